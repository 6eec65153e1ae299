/// A connection of a hub, as its driver knows it.
final class PeerConnection {
  let number: HubEngine.PeerNumber
  let bytes: any ByteConnection
  /// The principal that is charged for the connection; nil for another hub.
  let principal: Principal?
  /// Whether the system has refused a write.
  var isRefused = false
  /// Whether it is not read for now.
  var isPaused = false

  init(_ bytes: any ByteConnection, as number: HubEngine.PeerNumber, of principal: Principal?) {
    self.number = number
    self.bytes = bytes
    self.principal = principal
  }
}
