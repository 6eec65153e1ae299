// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The apps that the user prefers, and those that were used last (R6.2), also while the disk does not answer. No I/O.
/// For one thread.
final class StoredPreferences: AgentTimerOwner {
  /// The most apps that are remembered until the disk has answered.
  private static let earlyUsesLimit = 256
  /// Milliseconds until the disk gets which apps were used: what waits for an app that opens goes first.
  private static let usesDelay: Int64 = 500

  private struct Timers {
    /// Asks the disk again.
    let load: any AgentTimer
    let store: any AgentTimer
  }

  private enum State {
    /// The disk has not said what the user prefers.
    /// - uses: the apps that were used meanwhile, the most recent last.
    /// - isRefused: whether it has refused to say it.
    case unknown(uses: [String], isRefused: Bool)
    case known
  }

  private let environment: any AgentEnvironment
  private let disk: any InboxExecutor
  /// Nil before `open` and after `close`.
  private var timers: Timers?
  private var state = State.unknown(uses: [], isRefused: false)
  private(set) var current = RoutingPreferences()
  private var pause = Backoff()
  /// Apps that were used, the most recent last, until the disk gets it.
  private var used: [String] = []
  private var isStoring = false

  init(in environment: any AgentEnvironment, _ disk: any InboxExecutor) {
    (self.environment, self.disk) = (environment, disk)
  }

  /// Makes the timers. This object lives until `close`.
  func open() throws(SegueError) {
    let load = try environment.makeTimer(for: self)
    do throws(SegueError) {
      let store = try environment.makeTimer(for: self)
      timers = Timers(load: load, store: store)
    } catch {
      load.close()
      throw error
    }
  }

  /// Stores the last uses.
  func close() {
    store(isLast: true)
    timers?.load.close()
    timers?.store.close()
    timers = nil
  }

  func timerIsDue(_ timer: any AgentTimer) {
    if timer === timers?.store { store() } else { load() }
  }

  /// Asks the disk what the user prefers, and again later if it refuses.
  /// - Parameter done: called once it is known, or refused the first time.
  func load(_ done: @escaping () -> Void = {}) {
    disk.loadPreferences { [self] result in
      switch result {
      case .success(let preferences):
        current = preferences
        if case .unknown(let uses, let isRefused) = state {
          for app in uses { current.markUsed(app) }
          if isRefused { environment.log(.info, "inbox: the disk says which apps the user prefers") }
        }
        state = .known
        pause.end()
      case .failure(let error):
        // Apps are chosen without it meanwhile. The log has the error from the inbox.
        if case .unknown(let uses, _) = state { state = .unknown(uses: uses, isRefused: true) }
        if let pause = pause.take(after: error) { timers?.load.set(environment.uptime + pause) }
      }
      done()
    }
  }

  /// Remembers the app that the user wants for a type; nil forgets it.
  /// - Parameter done: called once it is on the disk, or cannot be.
  func choose(_ app: String?, for type: String, _ done: @escaping (SegueError?) -> Void) {
    disk.choose(app, for: type) { [self] result in
      switch result {
      case .success:
        current.choose(app, for: type)
        done(nil)
      case .failure(let error): done(error)
      }
    }
  }

  /// An app is the one that was used most recently.
  /// - Parameter isStored: whether the disk is told, too.
  func markUsed(_ app: String, isStored: Bool) {
    current.markUsed(app)
    if case .unknown(var uses, let isRefused) = state {
      uses.removeAll { Text.isSame($0, app) }
      uses.append(app)
      state = .unknown(uses: Array(uses.suffix(Self.earlyUsesLimit)), isRefused: isRefused)
    }
    guard isStored else { return }
    let isFirst = used.isEmpty
    used.removeAll { Text.isSame($0, app) }
    used.append(app)
    if isFirst { storeSoon() }
  }

  private func storeSoon() {
    if !isStoring, !used.isEmpty { timers?.store.set(environment.uptime + Self.usesDelay) }
  }

  /// Stores all uses since the last time, in one commit. The next ones wait until the disk has these, except the last
  /// ones before the end.
  private func store(isLast: Bool = false) {
    guard timers != nil, isLast || !isStoring, !used.isEmpty else { return }
    isStoring = true
    let apps = used
    used = []
    disk.markUsed(apps) { [self] result in
      if case .failure(let error) = result {
        environment.log(.debug, "which app was used is not remembered: \(error.message)")
      }
      isStoring = false
      storeSoon()
    }
  }
}
