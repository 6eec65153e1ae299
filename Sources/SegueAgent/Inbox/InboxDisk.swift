// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueApp
import SegueEngine
import SegueModel
import SegueRuntime
import SegueStore
import SegueSystem
import SegueTransport

/// The inbox on its thread, as the loop asks it for things. For the loop.
final class InboxDisk: InboxExecutor {
  private let thread: InboxThread
  private let loop: Loop

  /// - Parameter thread: has been started.
  init(_ thread: InboxThread, on loop: Loop) { (self.thread, self.loop) = (thread, loop) }

  func perform(_ request: InboxRequest, _ done: @escaping (InboxReply) -> Void) {
    do throws(SegueError) {
      try thread.post(size: request.size) { [loop] thread in
        guard let reply = InboxJobs.run(request, thread) else { return }
        loop.post { done(reply) }
      }
    } catch {
      Log.write(.error, "\(error.message)")
      let reply = InboxJobs.refusal(of: request, error)
      loop.post { done(reply) }
    }
  }

  func list(_ done: @escaping (Result<[InboxEntry], SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.entries() }, done)
  }

  func remove(_ continuation: Identifier, _ done: @escaping (Result<Bool, SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.drop(continuation, at: Clock.now.date) }, done)
  }

  func retry(_ continuation: Identifier, _ done: @escaping (Result<Bool, SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.retry(continuation) }, done)
  }

  func loadPreferences(_ done: @escaping (Result<RoutingPreferences, SegueError>) -> Void) {
    use(
      { inbox throws(SegueError) in
        RoutingPreferences(choices: try inbox.choices(), uses: try inbox.uses())
      }, done)
  }

  func choose(_ app: String?, for type: String, _ done: @escaping (Result<Void, SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.choose(app, for: type) }, done)
  }

  func hasTaken(_ push: PushMark, _ done: @escaping (Result<Bool, SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.hasTaken(push) }, done)
  }

  func noteTaken(_ push: PushMark, _ done: @escaping (Result<Void, SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.noteTaken(push) }, done)
  }

  func markUsed(_ apps: [String], _ done: @escaping (Result<Void, SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.markUsed(apps, at: Clock.now.date) }, done)
  }

  /// Uses the inbox on its thread.
  /// - Parameter answer: called on the loop, once.
  private func use<Success>(
    _ body: @escaping (Inbox) throws(SegueError) -> Success,
    _ answer: @escaping (Result<Success, SegueError>) -> Void
  ) {
    thread.use(on: loop, body, answer)
  }
}
