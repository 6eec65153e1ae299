// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueModel
import SegueTransport

/// The host's end of a stream, as a socket.
public final class HostStreamEnd: LocalStreamEnd {
  private let socket: StreamSocket

  public init(_ socket: StreamSocket) { self.socket = socket }

  public func giveAway() -> Int32 { socket.giveAway() }
  public func close() { Descriptors.closeConnection(socket.fd, isShared: true) }
  public var isOpen: Bool { socket.isOpen }
  public var otherEnd: StreamOtherEnd? { socket.otherEnd }
  public func shutDown(readingToo: Bool) { socket.shutDown(readingToo: readingToo) }
}
