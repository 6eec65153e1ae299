// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport

/// The runtime folder as the place of a device's hubs. All but `folder` and `heartbeatAge` is for the library thread.
final class WatchedFolder: HubDirectory {
  private let lock = Lock()
  /// Guarded by `lock`; replaced if it was removed.
  private var currentFolder: RuntimeFolder
  private let loop: Loop
  /// The agent in whose process this is; nil in an app's.
  private let agent: AgentHubPlace?
  private var watcher: FolderWatcher
  private let timer: LoopTimer
  /// Owns this object, which keeps it from `start` to `close`; nil otherwise.
  private var election: HubElection?

  convenience init(_ folder: RuntimeFolder, on loop: Loop, agent: AgentHubPlace?) throws(SegueError) {
    self.init(folder, on: loop, agent, try LoopTimer())
  }

  private init(_ folder: RuntimeFolder, on loop: Loop, _ agent: AgentHubPlace?, _ timer: LoopTimer) {
    self.agent = agent
    currentFolder = folder
    self.loop = loop
    watcher = FolderWatcher(folder)
    self.timer = timer
  }

  func start(for election: HubElection) throws(SegueError) {
    try timer.start(on: loop, for: self)
    self.election = election
  }

  func close() {
    timer.close()
    watcher.close()
    election = nil
  }

  /// From any thread.
  var folder: RuntimeFolder { lock.withLock { currentFolder } }

  func heartbeatAge(_ generation: UInt64) -> Int64? { folder.heartbeatAge(generation) }

  var path: String { folder.path }
  var isInPlace: Bool { folder.isInPlace }
  var highestGeneration: UInt64 { folder.highestGeneration() }
  func socketNumber(of generation: UInt64) -> UInt64? { folder.socketNumber(generation) }
  var lastGeneration: UInt64 { RuntimeFolder.lastGeneration }

  func holder(of generation: UInt64) -> DiagnosticText {
    guard case .connected(let socket) = try? folder.connect(to: generation) else { return "a process that has ended" }
    let process = Socket.peerProcess(socket)
    Descriptors.closeConnection(socket)
    return "process \(process) (\(ProcessName.of(process)))"
  }

  func connect(to generation: UInt64) throws(SegueError) -> HubContact {
    switch try folder.connect(to: generation) {
    case .connected(let socket): .connected(AppSocket(socket))
    case .nobody: .nobody
    case .crowded: .backlogFull
    }
  }

  func becomeHub(_ generation: UInt64, offersFrontmostOnly: Bool) throws(SegueError) -> (any ElectedHub)? {
    let host = try HubHost(
      generation, in: folder, on: loop, offersFrontmostOnly: offersFrontmostOnly, agent: agent?.description)
    if let host { agent?.tookPlace(generation, host) }
    return host
  }

  func removeLastGeneration() throws(SegueError) { try folder.removeLastGeneration() }

  func reopen() throws(SegueError) {
    if let agent {
      agent.lostFolder()
      throw SegueError(.system, "runtime folder \(path): was removed, and the agent ends")
    }
    let new = try RuntimeFolder(path)
    lock.withLock { currentFolder = new }
    watcher.close()
    watcher = FolderWatcher(new)
  }

  func watch() throws(SegueError) {
    // Once it is closed, nothing would close the watch.
    if election != nil { try watcher.start(on: loop, for: self) }
  }

  func lookSoon() { watcher.lookSoon() }
  func setTimer(_ uptime: Int64?) { timer.set(uptime) }
  func log(_ severity: Severity, _ message: DiagnosticText) { Log.write(severity, message) }
}

extension WatchedFolder: TimerOwner, FolderWatcherOwner {
  func timerIsDue(_ timer: LoopTimer) { election?.tick(Clock.uptime) }
  func folderChanged() { election?.directoryChanged(Clock.uptime) }
}

extension HubHost: ElectedHub {}

/// The part of a `WatchedFolder` that only the agent's process has.
struct AgentHubPlace {
  let description: AgentDescription
  let tookPlace: (UInt64, HubHost) -> Void
  /// Ends the agent.
  let lostFolder: () -> Void
}
