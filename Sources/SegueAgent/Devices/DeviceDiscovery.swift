import SegueDevices
import SegueModel
import SegueRuntime
import SegueTransport
import SegueTrust

/// Announces this device on its networks, and hears other devices of the account. A network without multicast has
/// neither: addresses are static there. For the loop's thread.
final class DeviceDiscovery {
  private let announcer: Announcer
  private var sockets: [BeaconSocket] = []

  /// - Parameter epochs: of the account, newest first.
  convenience init(_ epochs: [EpochKeys]) throws(SegueError) { self.init(try Announcer(epochs)) }

  private init(_ announcer: Announcer) { self.announcer = announcer }

  func renew(_ epochs: [EpochKeys]) throws(SegueError) { try announcer.renew(epochs) }

  /// Sets the port of this device's listener.
  func setPort(_ port: UInt16) { announcer.port = port }

  /// The other devices of the account.
  func setKnown(_ devices: [Identifier]) { announcer.setKnown(devices) }

  /// - Parameters:
  ///   - found: called with the address at which another device of the account listens, and whether it has said so
  ///     under a former epoch.
  ///   - differs: called with the time that another device says that it is, in seconds since 1970.
  func open(
    _ interfaces: [NetworkInterface], on loop: Loop,
    found: @escaping (NetworkAddress, _ isFormer: Bool) -> Void, differs: @escaping (_ date: Double) -> Void
  ) {
    for group in BeaconSocket.groups {
      do throws(SegueError) {
        let socket = try BeaconSocket(group)
        // `close` ends it before this object goes.
        try socket.start(on: loop) { [unowned(unsafe) self] bytes, address in
          switch self.announcer.read(bytes, at: Clock.date) {
          case .listens(let port, let isFormer): found(address.with(port: port), isFormer)
          case .otherTime(let date): differs(date)
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

  func close() {
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
      let jitter = try Randomness.identifier().bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
      let now = Instant(uptime: uptime, date: Clock.date)
      guard let beacon = announcer.takeDue(now, nonce: nonce.bytes, random: jitter) else { return }
      for socket in sockets { socket.send(beacon) }
    } catch {
      Log.error("\(error.message)")
    }
  }
}
