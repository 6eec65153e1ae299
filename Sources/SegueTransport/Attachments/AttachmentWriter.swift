// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The sending end of an attachment's stream. It waits as long as the other end reads or sends keep-alives, and some
/// time longer (docs/protocol.md, "An attachment, at both ends"). The owner closes the socket.
public struct AttachmentWriter {
  private let fd: Int32
  private let patience: Int64
  /// Uptimes at which this end last sent something, and at which the other last showed life.
  private var spokeAt = Clock.uptime
  private var heardAt = Clock.uptime
  /// Uptime of the last read: a receiver that says more than it has to does not keep this thread busy.
  private var readAt: Int64 = 0
  /// Milliseconds between two reads, and the most bytes of one.
  private static let readInterval: Int64 = 100
  private static let readSize = 64 * 1024

  /// - Parameter patience: milliseconds without a sign of life from the other end; at least `Limits.attachmentSilence`.
  public init(_ fd: Int32, patience: Int64) {
    self.fd = fd
    self.patience = max(patience, Limits.attachmentSilence)
  }

  /// Sends a keep-alive if it is due, while there is nothing else to send.
  public var shouldShowLife: Bool { Clock.uptime - spokeAt >= Limits.attachmentSign }

  public mutating func write(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { write($0) } }

  /// - Returns: false if the other side does not read it.
  public mutating func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var left = bytes
    while let start = left.baseAddress, !left.isEmpty {
      let count = send(fd, start, left.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      if count >= 0 {
        left = UnsafeRawBufferPointer(rebasing: left[count...])
        spokeAt = Clock.uptime
        heardAt = spokeAt
      } else if linux_errno() == EAGAIN {
        guard wait(toWrite: true) != nil else { return false }
      } else if linux_errno() != EINTR {
        return false
      }
    }
    return true
  }

  /// Sends the first bytes with a descriptor, which stays the caller's.
  public mutating func write(_ bytes: [UInt8], with descriptor: Int32) -> Bool {
    while true {
      let count = linux_send(fd, bytes, bytes.count, descriptor)
      if count >= 0 { return count == bytes.count }
      guard linux_errno() == EINTR || linux_errno() == EAGAIN && wait(toWrite: true) != nil else { return false }
    }
  }

  /// Waits, unless the other side is gone.
  /// - Returns: false if it is.
  public func pause(milliseconds: Int32) -> Bool {
    var descriptor = pollfd(fd: fd, events: 0, revents: 0)
    return poll(&descriptor, 1, milliseconds) <= 0
  }

  /// Waits until the other side has sent that byte.
  /// - Returns: false if it is gone, or silent for too long.
  public mutating func wait(for word: UInt8) -> Bool {
    while let said = wait(toWrite: false) { if said.contains(word) { return true } }
    return false
  }

  /// Waits until the socket is writable, or the other side has sent something; with a timeout.
  /// - Returns: what it has sent; nil if it is gone, or idle for too long.
  private mutating func wait(toWrite: Bool) -> [UInt8]? {
    let left = readAt + Self.readInterval - Clock.uptime
    let events = (left > 0 ? 0 : POLLIN) | (toWrite ? POLLOUT : 0)
    var descriptor = pollfd(fd: fd, events: Int16(events), revents: 0)
    poll(&descriptor, 1, Int32(clamping: left > 0 ? left : Limits.attachmentSign))
    let found = Int32(descriptor.revents)
    let now = Clock.uptime
    var said: [UInt8] = []
    if found & ~POLLOUT != 0 {
      readAt = now
      guard let words = read() else { return nil }
      said = words
    }
    if !said.isEmpty || found & POLLOUT != 0 { heardAt = now }
    return now - heardAt < patience ? said : nil
  }

  /// - Returns: nil if the other side is gone.
  private func read() -> [UInt8]? {
    var isGone = false
    let said = [UInt8](unsafeUninitializedCapacity: Self.readSize) { buffer, size in
      let (count, came) = Socket.receive(
        fd, into: UnsafeMutableRawBufferPointer(buffer), flags: Int32(MSG_DONTWAIT))
      isGone = count == 0 || count < 0 && linux_errno() != EAGAIN && linux_errno() != EINTR
      came.discard()
      size = max(0, count)
    }
    return isGone ? nil : said
  }
}
