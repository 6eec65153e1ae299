// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// One end of a socket pair within a device: bytes written to one are readable from the other at once.
public final class FleetSocket: StreamEndpoint {
  /// The most unread bytes.
  private static let capacity = 65_536

  /// The owner.
  enum Holder {
    /// In flight.
    case nobody
    case app(FleetProcess)
    /// A hub, which knows it by a number.
    case hub(FleetHub, UInt64)

    /// Nil if it has no owner.
    var process: FleetProcess? {
      switch self {
      case .nobody: nil
      case .app(let process): process
      case .hub(let hub, _): hub.process
      }
    }
  }

  /// Nil if one of the two is closed.
  private var other: FleetSocket?
  private(set) var holder = Holder.nobody
  /// The received bytes; those before `start` have been read.
  private var arrived: [UInt8] = []
  private var start = 0
  private var isRead = true
  private var isWritten = true
  private var isNoticed = false

  private init() {}

  /// Makes the two ends of a stream.
  static func pair() -> (FleetSocket, FleetSocket) {
    let (one, two) = (FleetSocket(), FleetSocket())
    (one.other, two.other) = (two, one)
    return (one, two)
  }

  public var isClosed: Bool { !isRead && !isWritten && other == nil }

  var otherEnd: StreamOtherEnd {
    guard let other else { return .closed }
    return other.isWritten ? .open : isWritten ? .finished : .closed
  }

  /// Whether an app has it.
  var isHeld: Bool { if case .app = holder { true } else { false } }

  public var isOtherEndClosed: Bool { otherEnd == .closed }

  var process: FleetProcess? { holder.process }

  func give(to holder: Holder) {
    self.holder = holder
    notice()
  }

  /// Notifies the owner: it may read or write, or the stream has ended.
  public func notice() {
    guard !isNoticed, let fleet = holder.process?.fleet else { return }
    isNoticed = true
    fleet.push(.socket(self), at: fleet.clock.uptime)
  }

  func noticed() { isNoticed = false }

  /// The number of bytes that `write` accepts; nil if there is no reader.
  public var room: Int? {
    guard isWritten, let other, other.isRead else { return nil }
    return Self.capacity - other.unreadCount
  }

  /// - Returns: the number of accepted bytes; nil if there is no reader.
  @discardableResult public func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard isWritten, let other, other.isRead else { return nil }
    let count = min(bytes.count, Self.capacity - other.unreadCount)
    if count > 0 {
      other.arrived.append(bytes: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      other.notice()
    }
    return count
  }

  /// Passes received bytes, at most `limit`, to `body`.
  /// - Returns: the number of bytes, 0 if there are none for now; nil at the end.
  func read(atMost limit: Int, _ body: (UnsafeRawBufferPointer) -> Void) -> Int? {
    guard hasArrived else { return isAtEnd ? nil : 0 }
    let count = min(unreadCount, limit)
    give { bytes in
      body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      return count
    }
    return count
  }

  public func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    read(atMost: buffer.count) { buffer.copyMemory(from: $0) }
  }

  /// Passes received bytes, if any, to `body`, which returns the number that it has taken.
  public func give(_ body: (UnsafeRawBufferPointer) -> Int) {
    guard hasArrived else { return }
    let count = arrived.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    drop(count)
    if count > 0 { other?.notice() }
  }

  private var unreadCount: Int { arrived.count - start }

  /// Marks bytes as read. A reader usually continues until none are left.
  private func drop(_ count: Int) {
    start += count
    if unreadCount == 0 {
      arrived.removeAll(keepingCapacity: true)
      start = 0
    } else if start > Self.capacity {
      arrived.removeFirst(start)
      start = 0
    }
  }

  public var hasArrived: Bool { unreadCount > 0 }
  /// Whether everything has been read up to the end.
  public var isAtEnd: Bool { !hasArrived && !(isRead && other?.isWritten ?? false) }

  /// Whether `read` gives bytes, or the end.
  var isReadable: Bool { hasArrived || !(other?.isWritten ?? false) }

  public func shutDown(reading: Bool, writing: Bool) {
    guard reading && isRead || writing && isWritten else { return }
    if reading { isRead = false }
    if writing { isWritten = false }
    other?.notice()
  }

  /// Each change is notified anyway, so this notifies only of what is ready already.
  public func watch(reading: Bool, writing: Bool) {
    if reading && isReadable || writing && room != 0 { notice() }
  }

  /// Bytes written to the other end may still be read there.
  @inline(never)
  public func close() {
    shutDown(reading: true, writing: true)
    other?.other = nil
    other = nil
    arrived = []
    start = 0
    holder = .nobody
  }
}
