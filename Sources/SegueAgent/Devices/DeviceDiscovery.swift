import SegueDevices
import SegueModel
import SegueRuntime
import SegueTransport
import SegueTrust

/// Announces this device on its networks, and hears other devices of the account. A network without multicast has
/// neither: addresses are static there. For the loop's thread.
final class DeviceDiscovery {
  private var codec: BeaconCodec
  private var schedule = BeaconSchedule()
  private var sockets: [BeaconSocket] = []
  private var port: UInt16 = 0
  /// The other devices of the account.
  var known: [Identifier] = []

  /// - Parameter epochs: of the account, newest first.
  convenience init(_ epochs: [EpochKeys]) throws(SegueError) { self.init(try BeaconCodec(epochs)) }

  private init(_ codec: BeaconCodec) { self.codec = codec }

  func renew(_ epochs: [EpochKeys]) throws(SegueError) {
    codec = try BeaconCodec(epochs, after: codec)
  }

  /// - Parameters:
  ///   - port: of this device's listener.
  ///   - found: called with the address at which another device of the account listens.
  func open(
    port: UInt16, _ interfaces: [NetworkInterface], on loop: Loop, _ found: @escaping (NetworkAddress) -> Void
  ) {
    self.port = port
    for group in BeaconSocket.groups {
      do throws(SegueError) {
        let socket = try BeaconSocket(group)
        // `close` ends it before this object goes.
        try socket.start(on: loop) { [unowned(unsafe) self] bytes, address in
          if let port = self.codec.read(bytes, at: Clock.date), port > 0 { found(address.with(port: port)) }
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
    schedule.changed(uptime)
  }

  var nextDeadline: Int64? { schedule.nextDeadline }

  /// Sends a beacon if one is due.
  func announce(linked: [Identifier], _ uptime: Int64) {
    schedule.set(isWanted: known.contains { !linked.contains($0) }, uptime)
    guard let due = schedule.nextDeadline, due <= uptime else { return }
    do throws(SegueError) {
      let nonce = try Randomness.identifier()
      let jitter = try Randomness.identifier().bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
      guard schedule.takeDue(uptime, random: jitter) else { return }
      let beacon = codec.make(port: port, nonce: nonce.bytes, at: Clock.date)
      for socket in sockets { socket.send(beacon) }
    } catch {
      Log.error("\(error.message)")
    }
  }
}
