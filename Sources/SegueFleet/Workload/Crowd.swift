/// A process that connects to its device's hub many times, and sends nothing.
final class Crowd {
  private let process: FleetProcess
  private var connections: [Connection] = []

  /// Nil without a hub.
  init?(_ count: Int, on device: FleetDevice) {
    guard let hub = device.hub else { return nil }
    process = FleetProcess("\(device.name)/mute", on: device, offersFrontmostOnly: false)
    for _ in 0..<count { connections.append(device.connect(process, to: hub)) }
  }

  /// Connections that the hub has not closed.
  var count: Int { connections.count { $0.owners[1] != nil } }
}
