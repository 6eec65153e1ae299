// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The library's descriptors in this process. A child that was forked after an app had opened closes them all: it must
/// not keep a hub's lock, its listening socket or a connection alive (architecture: "one hub a device").
public enum Descriptors {
  /// Registers a descriptor and returns it.
  static func own(_ fd: Int32) -> Int32 {
    if fd >= 0 { owned.insert(fd) }
    return fd
  }

  /// Registers a descriptor that has come over a socket, and returns it. The process at the other end is charged for
  /// the close.
  static func own(_ fd: Int32, from socket: Int32) -> Int32 {
    if fd >= 0 {
      owned.insert(fd)
      charge(fd, to: peer(of: socket))
    }
    return fd
  }

  /// Charges a principal for the close of a descriptor, which a hub has passed on.
  public static func charge(_ fd: Int32, to principal: Identifier) {
    if fd >= 0 { owned.charge(fd, to: principal) }
  }

  private static func peer(of socket: Int32) -> Identifier {
    Identifier(high: 0, low: UInt64(UInt32(bitPattern: Socket.peerProcess(socket))))
  }

  /// A counter that is readable while it is not zero.
  public static func eventDescriptor() throws(SegueError) -> Int32 {
    let fd = linux_eventfd()
    guard fd >= 0 else { throw .system("event descriptor") }
    return own(fd)
  }

  /// Makes an event descriptor readable. Safe in a signal handler.
  /// - Returns: false if the system refuses that.
  @discardableResult
  public static func raise(_ fd: Int32) -> Bool {
    var one: UInt64 = 1
    while linux_write(fd, &one, 8) < 0 {
      // EAGAIN: it counts no higher, so it is readable.
      guard linux_errno() == EINTR else { return linux_errno() == EAGAIN }
    }
    return true
  }

  /// Makes an event descriptor, or a timer that has run down, unreadable.
  public static func reset(_ fd: Int32) {
    var count: UInt64 = 0
    while linux_read(fd, &count, 8) < 0, linux_errno() == EINTR {}
  }

  /// The number of descriptors that this process may have open. Their numbers are below it, and a new one gets the
  /// lowest free number. The usual limit if the system does not tell.
  public static var limit: Int {
    var limit = rlimit()
    guard linux_descriptors(&limit) == 0 else { return usualLimit }
    return Int(clamping: limit.rlim_cur)
  }

  /// The soft limit of Linux (INR_OPEN_CUR).
  private static let usualLimit = 1024

  /// Lets this process open as many as the system allows it.
  public static func raiseLimit() {
    var limit = rlimit()
    guard linux_descriptors(&limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = linux_set_descriptors(&limit)
  }

  /// The path that opens the file of a descriptor again, or leads into its folder.
  @inline(never)
  static func path(of fd: Int32) -> String { String(joining: "/proc/self/fd/\(fd)") }

  /// Throws SYSTEM if the process cannot open that many more, or not those of an event loop.
  static func check(_ count: Int, for what: StaticString) throws(SegueError) {
    guard linux_probe_loop() == 0 else { throw .system("\(what)") }
    var probes: [Int32] = []
    defer { for probe in probes { _ = CLinux.close(probe) } }
    while probes.count < count {
      let probe = linux_eventfd()
      guard probe >= 0 else { throw .system("\(what)") }
      probes.append(probe)
    }
  }

  /// Closes a registered descriptor.
  @inline(never)
  public static func close(_ fd: Int32) {
    guard fd >= 0 else { return }
    disown(fd)
    _ = CLinux.close(fd)
  }

  /// Closes a registered descriptor that a peer has opened, without waiting (`DescriptorCloser`).
  @inline(never)
  public static func closeUntrusted(_ fd: Int32) { if fd >= 0 { closer.close(fd, of: owned.payer(of: fd) ?? unknown) } }

  /// Ends a connection to a peer at once, and closes it without waiting: descriptors that were not read are closed with
  /// it.
  /// - Parameter isShared: whether the peer may have this end, too.
  @inline(never)
  public static func closeConnection(_ fd: Int32, isShared: Bool = false) {
    guard fd >= 0 else { return }
    // From now on the peer can send nothing.
    linux_shutdown(fd, 1, 1)
    guard isShared || linux_has_unread(fd) != 0 else { return close(fd) }
    closer.close(fd, of: owned.payer(of: fd) ?? peer(of: fd))
  }

  /// Whether no further descriptors are taken from the peer of a socket: it holds up closes, and as many wait as any
  /// process can spare; or its share of all descriptors waits.
  static func isCrowded(by socket: Int32) -> Bool {
    // Usually nothing waits.
    guard closer.waits(moreThan: spareCount) else { return false }
    return closer.isHeldUp(by: peer(of: socket), moreThan: spareCount, most: max(spareCount, limit / share))
  }

  /// The descriptors of one peer that may wait to be closed: any process can spare them.
  private static let spareCount = 64
  /// The share of the descriptors of this process that those of one peer may have while they wait.
  private static let share = 4

  /// Unregisters a descriptor that another owner closes from now on.
  static func disown(_ fd: Int32) { owned.remove(fd) }

  private static let unknown = Identifier(high: 0, low: 0)
  private static let owned = OwnedDescriptors()
  private static let closer = DescriptorCloser()

  public static func lockForFork() {
    closer.lock.lock()
    owned.lock.lock()
  }
  public static func unlockAfterFork() {
    owned.lock.unlock()
    closer.lock.unlock()
  }
  /// Closes all, in a forked child that uses none of them. Called with the locks.
  public static func closeAllInChild() {
    closer.forget()
    owned.closeAll()
  }
}

/// One bit a descriptor. All of its state is guarded by its lock.
private final class OwnedDescriptors: @unchecked Sendable {
  let lock = Lock()
  private var words: [UInt64] = []
  /// Those that are charged for the close of descriptors that have come over sockets.
  private var payers: [(fd: Int32, payer: Identifier)] = []

  func insert(_ fd: Int32) {
    lock.withLock {
      let word = Int(fd) / 64
      while words.count <= word { words.append(0) }
      words[word] |= 1 << UInt64(fd % 64)
    }
  }

  func charge(_ fd: Int32, to payer: Identifier) {
    lock.withLock {
      payers.removeAll { $0.fd == fd }
      payers.append((fd, payer))
    }
  }

  /// Nil if nobody is charged.
  func payer(of fd: Int32) -> Identifier? { lock.withLock { payers.first { $0.fd == fd }?.payer } }

  func remove(_ fd: Int32) {
    lock.withLock {
      let word = Int(fd) / 64
      if word < words.count { words[word] &= ~(1 << UInt64(fd % 64)) }
      if let index = payers.firstIndex(where: { $0.fd == fd }) { payers.remove(at: index) }
    }
  }

  func closeAll() {
    for (index, word) in words.enumerated() where word != 0 {
      for bit in 0..<64 where word >> UInt64(bit) & 1 == 1 { _ = CLinux.close(Int32(index * 64 + bit)) }
      words[index] = 0
    }
    payers = []
  }
}
