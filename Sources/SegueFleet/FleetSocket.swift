import SegueDriver
import SegueModel

/// One end of two connected sockets within a device: what is written to one is read from the other, at once.
public final class FleetSocket: StreamEndpoint {
  /// Bytes that wait to be read, at most.
  private static let capacity = 65_536

  /// Who has it.
  enum Holder {
    /// It is under way.
    case nobody
    case app(FleetProcess)
    /// A hub, which calls it by a number.
    case hub(FleetHub, UInt64)

    /// Nil: nobody's.
    var process: FleetProcess? {
      switch self {
      case .nobody: nil
      case .app(let process): process
      case .hub(let hub, _): hub.process
      }
    }
  }

  /// What can be seen of the other end.
  enum OtherEnd {
    case open
    /// It was shut down for writing, and is not closed.
    case finished
    /// It is closed; or both were shut down for writing, which looks the same.
    case closed
  }

  /// Outlives it.
  private unowned(unsafe) let fleet: Fleet
  /// Nil: one of the two is closed.
  private var other: FleetSocket?
  private(set) var holder = Holder.nobody
  /// What has come; before `start` stands what was read of it.
  private var arrived: [UInt8] = []
  private var start = 0
  private var isRead = true
  private var isWritten = true
  private var isNoticed = false

  private init(_ fleet: Fleet) { self.fleet = fleet }

  static func pair(_ fleet: Fleet) -> (FleetSocket, FleetSocket) {
    let (one, two) = (FleetSocket(fleet), FleetSocket(fleet))
    (one.other, two.other) = (two, one)
    return (one, two)
  }

  public var isClosed: Bool { !isRead && !isWritten && other == nil }

  var otherEnd: OtherEnd {
    guard let other else { return .closed }
    return other.isWritten ? .open : isWritten ? .finished : .closed
  }

  public var isOtherEndClosed: Bool { otherEnd == .closed }

  var process: FleetProcess? { holder.process }

  func give(to holder: Holder) {
    self.holder = holder
    notice()
  }

  /// Something may be read or written, or has ended: whoever has it looks after it next.
  public func notice() {
    guard !isNoticed, holder.process != nil else { return }
    isNoticed = true
    fleet.push(.socket(self), at: fleet.clock.uptime)
  }

  func noticed() { isNoticed = false }

  /// Bytes that `write` has room for; nil: nobody reads.
  public var room: Int? {
    guard isWritten, let other, other.isRead else { return nil }
    return Self.capacity - other.unreadCount
  }

  /// - Returns: how many of the bytes there was room for; nil: nobody reads.
  @discardableResult public func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard isWritten, let other, other.isRead else { return nil }
    let count = min(bytes.count, Self.capacity - other.unreadCount)
    if count > 0 {
      other.arrived.append(bytes: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      other.notice()
    }
    return count
  }

  /// Gives what has come, `limit` bytes at most, to `body`.
  /// - Returns: how many that were, 0: none for now; nil: nothing more comes.
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

  /// Gives what has come, if anything has, to `body`, which returns how many of the bytes it took.
  public func give(_ body: (UnsafeRawBufferPointer) -> Int) {
    guard hasArrived else { return }
    let count = arrived.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    drop(count)
    if count > 0 { other?.notice() }
  }

  private var unreadCount: Int { arrived.count - start }

  /// So many bytes were read. Whoever reads goes on until nothing is left, as a rule.
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
  /// Whether all that ever comes has been read.
  public var isAtEnd: Bool { !hasArrived && !(isRead && other?.isWritten ?? false) }

  /// Whether `read` gives something, or the end.
  var isReadable: Bool { hasArrived || !(other?.isWritten ?? false) }

  public func shutDown(reading: Bool, writing: Bool) {
    guard reading && isRead || writing && isWritten else { return }
    if reading { isRead = false }
    if writing { isWritten = false }
    other?.notice()
  }

  /// Whoever has it is told of each change anyway: only what is so already is told again.
  public func watch(reading: Bool, writing: Bool) {
    if reading && isReadable || writing && room != 0 { notice() }
  }

  /// What was written to the other end may still be read there.
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
