import SegueEngine

/// A connection of a hub, as its driver knows it.
final class PeerConnection {
  let number: HubEngine.PeerNumber
  let bytes: any ByteConnection
  /// The account that is charged for the connection; nil for another hub.
  let account: Account?
  /// Whether the system has refused a write.
  var isRefused = false
  /// Whether it is not read for now.
  var isPaused = false

  init(_ bytes: any ByteConnection, as number: HubEngine.PeerNumber, of account: Account?) {
    self.number = number
    self.bytes = bytes
    self.account = account
  }
}
