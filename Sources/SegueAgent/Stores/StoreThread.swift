// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueApp
import SegueModel
import SegueRuntime
import SegueStore
import SegueSystem
import SegueTransport

/// A store of the agent, which is used by a thread of its own.
protocol AgentStore: AnyObject {
  /// For people.
  static var name: StaticString { get }
  static func open(in folder: StateFolder) throws(SegueError) -> Self
  /// The notice for the user; nil if there is none.
  var notice: String? { get }
  /// Tells of items that cannot be read, and are left out; each once.
  func takeReports() -> [String]
  /// Whether documents pass through it, whose memory is given back once nothing is to be done. To give back a few KiB
  /// after each message of another device costs more than the message.
  static var holdsDocuments: Bool { get }
  /// Whether a folder has one in which something has a lifetime.
  static func isThere(in folder: StateFolder) -> Bool
  /// Follows the clocks of the device, before each use.
  /// - Parameter stores: whether the disk is to get this reading. Otherwise it gets one an hour.
  /// - Returns: the seconds by which the date was set; nil if it was not, as far as is known.
  func follow(_ reading: ClockReading, stores: Bool) throws(SegueError) -> Double?
  /// Frees what is in memory to be read faster.
  func releaseMemory()
}

extension AgentStore {
  static var holdsDocuments: Bool { true }
  /// Nothing in it has a lifetime.
  static func isThere(in folder: StateFolder) -> Bool { false }
  func follow(_ reading: ClockReading, stores: Bool) throws(SegueError) -> Double? { nil }
}

extension Inbox: AgentStore { static var name: StaticString { "inbox" } }
extension SavedActivities: AgentStore { static var name: StaticString { "saved activities" } }

typealias InboxThread = StoreThread<Inbox>
typealias SavedThread = StoreThread<SavedActivities>

/// The thread that uses a store: what waits for the disk does not stop the hub (docs/agent.md). It does its jobs in
/// their order. All but `perform` on the store is for the loop.
final class StoreThread<Store: AgentStore>: @unchecked Sendable {
  /// The most bytes of documents that wait for the disk.
  private static var bytesLimit: Int { 64 * 1024 * 1024 }
  /// The most jobs that wait.
  private static var jobLimit: Int { 4_096 }
  /// Milliseconds without a job after which the clocks are read, so that the store knows how long the system has run.
  private static var readingPause: Int64 { 3_600_000 }

  private struct Job {
    let size: Int
    let run: (StoreThread) -> Void
  }

  private let folder: StateFolder
  private let boot = SystemStart.identity
  private let monitor = ConditionLock()
  // Guarded by the monitor.
  private var jobs: [Job] = []
  private var size = 0
  private var isEnding = false
  private var thread: Thread?
  /// Only for the thread. Nil until it is needed, and after damage.
  private var store: Store?

  init(_ folder: StateFolder) { self.folder = folder }

  /// Throws SYSTEM. Call `end` once after that.
  func start() throws(SegueError) {
    // The thread keeps this object until `end`.
    thread = try Thread { [self] in run() }
  }

  /// Queues a job.
  /// - Parameter size: the bytes that it holds.
  /// Throws BUSY if too much waits for the disk.
  func post(size: Int = 0, _ job: @escaping (StoreThread) -> Void) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    guard self.size + size <= Self.bytesLimit, jobs.count < Self.jobLimit else {
      throw SegueError(.busy, "\(Store.name): the disk does not keep up: \(jobs.count) jobs wait for it")
    }
    self.size += size
    jobs.append(Job(size: size, run: job))
    monitor.notifyAll()
  }

  /// Does what is queued, and ends.
  func end() {
    monitor.lock()
    isEnding = true
    monitor.notifyAll()
    monitor.unlock()
    thread?.join()
    thread = nil
  }

  private func run() {
    monitor.lock()
    while true {
      while jobs.isEmpty, !isEnding {
        if let store, Store.holdsDocuments {
          monitor.unlock()
          store.releaseMemory()
          // Gives back the memory that all threads of the process have freed: of documents, and of what they came in.
          linux_trim_memory()
          monitor.lock()
          if !jobs.isEmpty || isEnding { break }
        }
        if !monitor.wait(atMost: Self.readingPause) { readClocks() }
      }
      guard !jobs.isEmpty else { break }
      let job = jobs.removeFirst()
      monitor.unlock()
      job.run(self)
      monitor.lock()
      size -= job.size
    }
    readClocks()
    monitor.unlock()
    store = nil
  }

  /// Stores a reading of the clocks, for the next agent: of the time that passes unread little may count. The monitor
  /// is locked, but not meanwhile.
  private func readClocks() {
    guard Store.isThere(in: folder) else { return }
    monitor.unlock()
    do throws(SegueError) {
      try perform(storesReading: true) { _ in }
    } catch {
      Log.debug("\(Store.name): the disk does not get the time: \(error.message)")
    }
    monitor.lock()
  }

  /// Uses the store, in a job. A damaged one is opened again, which sets it aside.
  func perform<Result>(_ body: (Store) throws(SegueError) -> Result) throws(SegueError) -> Result {
    try perform(storesReading: false, body)
  }

  private func perform<Result>(
    storesReading stores: Bool, _ body: (Store) throws(SegueError) -> Result
  ) throws(SegueError) -> Result {
    defer { for line in store?.takeReports() ?? [] { Log.write(.error, "\(Store.name): \(line)") } }
    do throws(SegueError) {
      return try body(try current(storesReading: stores))
    } catch {
      guard error.status == .malformed else { throw error }
      Log.write(.error, "\(error.message)")
      store = nil
      return try body(try current(storesReading: stores))
    }
  }

  /// The store, with its dates as the clocks of the device have it.
  private func current(storesReading stores: Bool) throws(SegueError) -> Store {
    let store = try opened()
    let jump = try store.follow(ClockReading(Clock.now, boot: boot), stores: stores)
    if let seconds = jump.flatMap({ Int64(exactly: $0.rounded()) }) {
      Log.write(.info, "\(Store.name): the date was set by \(seconds) s: what waits, waits as long as before")
    }
    return store
  }

  private func opened() throws(SegueError) -> Store {
    if let store { return store }
    let store = try Store.open(in: folder)
    if let notice = store.notice { Log.write(.error, "\(Store.name): \(notice)") }
    self.store = store
    return store
  }

  /// Uses the store on its thread.
  /// - Parameters:
  ///   - size: the bytes that the call holds.
  ///   - answer: called on the loop, once.
  func use<Success>(
    on loop: Loop, size: Int = 0, _ body: @escaping (Store) throws(SegueError) -> Success,
    _ answer: @escaping (Result<Success, SegueError>) -> Void
  ) {
    do throws(SegueError) {
      try post(size: size) { thread in
        let result: Result<Success, SegueError>
        do throws(SegueError) { result = .success(try thread.perform(body)) } catch { result = .failure(error) }
        loop.post { answer(result) }
      }
    } catch {
      answer(.failure(error))
    }
  }
}

extension StoreThread: InboxHolder where Store == Inbox {
  var date: Double { Clock.now.date }

  // `InboxDownload` makes no other sources.
  func content(of source: AttachmentSource) -> AttachmentContent.Source {
    .descriptor(unsafeDowncast(source, to: SourceFile.self).descriptor)
  }

  func log(_ severity: Severity, _ message: DiagnosticText) { Log.write(severity, message) }
}
