// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueStore

/// The saved activities on the disk of an agent in a fleet.
final class FleetSearchIndex: SearchIndex {
  private let agent: FleetAgent

  init(_ agent: FleetAgent) { self.agent = agent }

  private func use<Success>(
    _ body: @escaping (SavedActivities, Double) throws(SegueError) -> Success,
    _ done: @escaping (Result<Success, SegueError>) -> Void
  ) {
    let disk = agent.disk
    agent.onDisk {
      let result: Result<Success, SegueError>
      do throws(SegueError) { result = .success(try disk.performSaved(body)) } catch { result = .failure(error) }
      return { done(result) }
    }
  }

  func change(
    _ change: SavedChange, of app: AppIdentity, principal: Identifier,
    _ done: @escaping (Result<Int, SegueError>) -> Void
  ) {
    use({ saved, now throws(SegueError) in try saved.apply(change, of: app, principal: principal, at: now) }, done)
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
