// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

@testable import SegueEngine

/// A place of hubs that does what a test says, and notes what it was asked for.
final class ScriptedDirectory: HubDirectory {
  let path = "/place"
  var isInPlace = true
  /// Generations that have a socket.
  var listed: Set<UInt64> = []
  /// Those whose socket somebody listens at.
  var live: Set<UInt64> = []
  /// Those that another process has locked.
  var locked: Set<UInt64> = []
  var isFull = false
  /// Nobody can be reached, not even a hub of this process.
  var isDeaf = false
  var connectError: SegueError?
  /// The system refuses to make a hub.
  var openingError: SegueError?
  var reopenError: SegueError?
  var heartbeats: [UInt64: Int64] = [:]
  var lastGeneration: UInt64 = 999
  /// The times that other processes have replaced all sockets.
  var replacements: UInt64 = 0

  private(set) var hubs: [ScriptedHub] = []
  private(set) var visits: [UInt64] = []
  private(set) var timer: Int64?

  var highestGeneration: UInt64 { listed.max() ?? 0 }
  func socketNumber(of generation: UInt64) -> UInt64? { listed.contains(generation) ? replacements : nil }
  func heartbeatAge(_ generation: UInt64) -> Int64? { heartbeats[generation] }

  private(set) var logged: [String] = []
  func holder(of generation: UInt64) -> DiagnosticText { "the holder of \(generation)" }

  /// Another process listens.
  func open(_ generation: UInt64) {
    listed.insert(generation)
    live.insert(generation)
  }

  func connect(to generation: UInt64) throws(SegueError) -> HubContact {
    visits.append(generation)
    if let connectError { throw connectError }
    if isFull { return .backlogFull }
    return live.contains(generation) && !isDeaf ? .connected(ScriptedConnection()) : .nobody
  }

  func becomeHub(_ generation: UInt64, offersFrontmostOnly: Bool) throws(SegueError) -> (any ElectedHub)? {
    if let openingError { throw openingError }
    guard !locked.contains(generation) else { return nil }
    open(generation)
    let hub = ScriptedHub(generation, in: self)
    hubs.append(hub)
    return hub
  }

  func removeLastGeneration() throws(SegueError) { listed.remove(lastGeneration) }

  func reopen() throws(SegueError) {
    if let reopenError { throw reopenError }
    listed = []
    live = []
    isInPlace = true
  }

  func watch() throws(SegueError) {}
  func lookSoon() {}
  func setTimer(_ uptime: Int64?) { timer = uptime }
  func log(_ severity: Severity, _ message: DiagnosticText) { logged.append(message.string) }
}

final class ScriptedHub: ElectedHub {
  let generation: UInt64
  private unowned let directory: ScriptedDirectory
  private(set) var end: StaticString = ""

  init(_ generation: UInt64, in directory: ScriptedDirectory) {
    self.generation = generation
    self.directory = directory
  }

  var isNamed: Bool { directory.listed.contains(generation) }
  var isOver: Bool { end.utf8CodeUnitCount > 0 }
  func flush() {}
  func stepDown() { end = "stepped down" }
  func close() { end = "closed" }
}

/// A connection whose other end a test is.
final class ScriptedConnection: ByteConnection {
  var incoming: [[UInt8]] = []
  /// The other end has closed.
  var isOver = false
  private(set) var isClosed = false
  private(set) var written: [UInt8] = []
  private(set) var isWatchedForRoom = false
  /// Bytes that it takes; nil: the system refuses.
  var room: Int? = .max

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    guard !incoming.isEmpty else { return isOver ? .closed : .drained }
    body(incoming.removeFirst(), nil)
    return .drained
  }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    guard let room else { return .refused }
    let count = min(room, bytes.count)
    written += bytes[..<count]
    self.room = room == .max ? room : room - count
    return .bytes(count)
  }

  func watch(reading: Bool, writing: Bool) { isWatchedForRoom = writing }
  func close() { isClosed = true }
}

/// An app that looks for a hub.
final class ScriptedSeeker: HubSeeker {
  private(set) var hubGeneration: UInt64?
  var offersFrontmostOnly = false
  private(set) var errors: [SegueError] = []
  /// Its next attempts when the backlog is full, in their order. After the last one it asks again after 50 ms.
  var onFullBacklog: [NextHubAttempt] = []
  var retryTime: Int64 = 1_000
  /// Milliseconds until it follows a hub of a higher generation.
  var pace: Int64 = 0

  func prepare() throws(SegueError) {}
  func connected(to hub: any ByteConnection, generation: UInt64) throws(SegueError) { hubGeneration = generation }
  func disconnect() { hubGeneration = nil }
  func superseded(by generation: UInt64) -> NextHubAttempt {
    hubGeneration = nil
    return .seek(minimum: generation, after: pace)
  }
  func backlogFull(at generation: UInt64) -> NextHubAttempt {
    onFullBacklog.isEmpty ? .retry(generation, after: 50) : onFullBacklog.removeFirst()
  }
  func couldNotConnect(_ error: SegueError) -> Int64 {
    errors.append(error)
    return retryTime
  }
}
