import SegueApp
import SegueModel
import SegueTransport

/// The host's end of a stream, as a socket.
final class HostStreamEnd: LocalStreamEnd {
  private let socket: StreamSocket

  init(_ socket: StreamSocket) { self.socket = socket }

  func giveAway() -> Int32 { socket.giveAway() }
  func close() { Descriptors.closeUntrusted(socket.fd) }
  var isOpen: Bool { socket.isOpen }
  var otherEnd: StreamOtherEnd? { socket.otherEnd }
  func shutDown(readingToo: Bool) { socket.shutDown(readingToo: readingToo) }
}
