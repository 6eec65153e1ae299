import SegueApp
import SegueDevices
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport
import SegueTrust

/// Announces this device on its networks, and hears other devices of the account. A network without multicast has
/// neither: addresses are static there. For the loop's thread.
final class DeviceDiscovery {
  /// The receiver of what beacons say.
  private struct Listener {
    let loop: Loop
    let found: (NetworkAddress, _ isFormer: Bool) -> Void
    let differs: (_ date: Double) -> Void
  }

  private let announcer: Announcer
  /// Whether beacons are sent and heard once it is open.
  private var isOn: Bool
  /// The other devices of the account.
  private(set) var others: [Identifier] = []
  /// Nil unless it is open.
  private var listener: Listener?
  private var sockets: [BeaconSocket] = []

  /// - Parameters:
  ///   - epochs: those of the account, newest first.
  ///   - isOn: whether beacons are sent and heard.
  convenience init(_ epochs: [EpochKeys], isOn: Bool) throws(SegueError) {
    self.init(try Announcer(epochs), isOn: isOn)
  }

  private init(_ announcer: Announcer, isOn: Bool) { (self.announcer, self.isOn) = (announcer, isOn) }

  func renew(_ epochs: [EpochKeys]) throws(SegueError) { try announcer.renew(epochs) }

  /// Sets the port of this device's listener.
  func setPort(_ port: UInt16) { announcer.port = port }

  /// Sets the other devices of the account.
  func setKnown(_ devices: [Identifier]) {
    others = devices
    announcer.setKnown(isOn ? others : [])
  }

  /// - Parameters:
  ///   - found: called with the address at which another device of the account listens, and whether it has said so
  ///     under a former epoch.
  ///   - differs: called with the time that another device says that it is, in seconds since 1970.
  func open(
    _ interfaces: [NetworkInterface], on loop: Loop,
    found: @escaping (NetworkAddress, _ isFormer: Bool) -> Void, differs: @escaping (_ date: Double) -> Void
  ) {
    listener = Listener(loop: loop, found: found, differs: differs)
    if isOn { openSockets(interfaces) }
  }

  /// Has beacons sent and heard, or no longer.
  func set(isOn: Bool, _ interfaces: [NetworkInterface]) {
    guard isOn != self.isOn else { return }
    self.isOn = isOn
    if isOn { openSockets(interfaces) } else { closeSockets() }
    setKnown(others)
  }

  func close() {
    listener = nil
    closeSockets()
  }

  private func openSockets(_ interfaces: [NetworkInterface]) {
    guard let listener else { return }
    for group in BeaconSocket.groups {
      do throws(SegueError) {
        let socket = try BeaconSocket(group)
        // `close` ends it before this object goes.
        try socket.start(on: listener.loop) { [unowned(unsafe) self] bytes, address in
          switch self.announcer.read(bytes, at: Clock.date) {
          case .listens(let port, let isFormer): listener.found(address.with(port: port), isFormer)
          case .otherTime(let date): listener.differs(date)
          case nil: break
          }
        }
        socket.join(interfaces)
        sockets.append(socket)
      } catch {
        Log.info("other devices are not discovered by \(group): \(error.message)")
      }
    }
  }

  private func closeSockets() {
    for socket in sockets { socket.close() }
    sockets = []
  }

  func networkChanged(_ interfaces: [NetworkInterface], _ uptime: Int64) {
    for socket in sockets { socket.join(interfaces) }
    announcer.networkChanged(uptime)
  }

  var nextDeadline: Int64? { announcer.nextDeadline }

  /// Sends a beacon if one is due.
  func announce(linked: [Identifier], _ uptime: Int64) {
    guard announcer.isDue(linked: linked, uptime) else { return }
    do throws(SegueError) {
      let nonce = try Randomness.identifier()
      let now = Instant(uptime: uptime, date: Clock.date)
      guard let beacon = announcer.takeDue(now, nonce: nonce.bytes, random: Randomness.jitter) else { return }
      for socket in sockets { socket.send(beacon) }
    } catch {
      Log.error("\(error.message)")
    }
  }
}
