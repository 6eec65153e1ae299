// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueRuntime
import SegueStore
import SegueSystem
import SegueTransport

/// The saved activities of all apps of the user (handoff.md section 8), for the loop. Those that have expired are
/// deleted with the next call.
final class SavedService: SearchIndex {
  private let thread: SavedThread
  private let loop: Loop

  /// - Parameter thread: has been started.
  init(_ thread: SavedThread, on loop: Loop) {
    self.thread = thread
    self.loop = loop
  }

  /// Uses the saved activities on their thread, at a date.
  /// - Parameter answer: called on the loop, once.
  private func use<Success>(
    size: Int = 0, _ body: @escaping (SavedActivities, Double) throws(SegueError) -> Success,
    _ answer: @escaping (Result<Success, SegueError>) -> Void
  ) {
    thread.use(
      on: loop, size: size,
      { saved throws(SegueError) in
        let now = Clock.now.date
        let expired = try saved.expire(at: now)
        if expired > 0 { Log.write(.info, "saved activities: \(expired) have expired") }
        return try body(saved, now)
      }, answer)
  }

  func change(
    _ change: SavedChange, of app: AppIdentity, principal: Identifier,
    _ answer: @escaping (Result<Int, SegueError>) -> Void
  ) {
    use(
      size: change.size,
      { saved, now throws(SegueError) in try saved.apply(change, of: app, principal: principal, at: now) }, answer)
  }

  func search(_ query: SearchQuery, _ done: @escaping (Result<[SearchResult], SegueError>) -> Void) {
    use({ saved, now throws(SegueError) in try saved.search(query, at: now) }, done)
  }

  func find(
    _ activity: Identifier, named name: String?, of app: String,
    _ done: @escaping (Result<(found: SearchResult, document: [UInt8])?, SegueError>) -> Void
  ) {
    use({ saved, now throws(SegueError) in try saved.findWhole(activity, named: name, of: app, at: now) }, done)
  }

  func removeAll(of app: String?, _ done: @escaping (Result<Int, SegueError>) -> Void) {
    use({ saved, _ throws(SegueError) in try saved.deleteAll(ofApp: app) }, done)
  }
}
