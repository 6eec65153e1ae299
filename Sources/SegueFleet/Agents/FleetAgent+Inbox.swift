// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueStore
import SegueWire

extension FleetAgent: InboxExecutor {
  public func perform(_ request: InboxRequest, _ done: @escaping (InboxReply) -> Void) {
    jobs.append(.request(request, done))
    work()
  }

  public func list(_ done: @escaping (Result<[InboxEntry], SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.entries() }, done)
  }

  public func remove(_ continuation: Identifier, _ done: @escaping (Result<Bool, SegueError>) -> Void) {
    let date = now.date
    use(
      { [self] inbox throws(SegueError) in
        let isRemoved = try inbox.drop(continuation, at: date)
        if isRemoved { hasRemoved(continuation) }
        return isRemoved
      }, done)
  }

  public func retry(_ continuation: Identifier, _ done: @escaping (Result<Bool, SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.retry(continuation) }, done)
  }

  public func loadPreferences(_ done: @escaping (Result<RoutingPreferences, SegueError>) -> Void) {
    use(
      { inbox throws(SegueError) in RoutingPreferences(choices: try inbox.choices(), uses: try inbox.uses()) }, done)
  }

  public func choose(_ app: String?, for type: String, _ done: @escaping (Result<Void, SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.choose(app, for: type) }, done)
  }

  public func hasTaken(_ push: PushMark, _ done: @escaping (Result<Bool, SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.hasTaken(push) }, done)
  }

  public func noteTaken(_ push: PushMark, _ done: @escaping (Result<Void, SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.noteTaken(push) }, done)
  }

  public func markUsed(_ apps: [String], _ done: @escaping (Result<Void, SegueError>) -> Void) {
    let date = now.date
    use({ inbox throws(SegueError) in try inbox.markUsed(apps, at: date) }, done)
  }

  private func use<Success>(
    _ body: @escaping (Inbox) throws(SegueError) -> Success,
    _ done: @escaping (Result<Success, SegueError>) -> Void
  ) {
    onDisk { [disk] in
      let result: Result<Success, SegueError>
      do throws(SegueError) { result = .success(try disk.perform(body)) } catch { result = .failure(error) }
      return { done(result) }
    }
  }
}

extension FleetAgent: ProgramLauncher {
  /// Milliseconds for an app to open after its program has started (R3.9).
  private static let openingTime: Int64 = 20_000

  /// One launch of an app at a time, as in the product.
  public func launch(
    _ app: String, _ environment: [LaunchVariable], _ done: @escaping (SegueError?) -> Void
  ) throws(SegueError) {
    if knows(app) { fleet.report(name, "R3.8: an app is launched that is open") }
    guard !isLaunching(app) else { throw SegueError(.busy, "launch of \(app): is under way") }
    launching.append(app)
    fleet.push(.timer(self) { [self] in launchEnded(app) }, at: fleet.clock.uptime + Self.openingTime)
    start(app) { [self] error in
      if error != nil { launchEnded(app) }
      done(error)
    }
  }

  public func open(
    _ page: String, in browser: String, _ environment: [LaunchVariable], _ done: @escaping (SegueError?) -> Void
  ) throws(SegueError) { device.open(page, in: browser, done) }

  public func open(
    _ document: OpenedDocument, with opener: String, _ environment: [LaunchVariable],
    _ done: @escaping (SegueError?) -> Void
  ) throws(SegueError) { device.open(document, with: opener, done) }

  public func opened(_ app: String) { launchEnded(app) }
}

/// Moves nothing: attachments stay with their origins.
final class AbsentMover: AttachmentMover {
  private let agent: FleetAgent

  init(_ agent: FleetAgent) { self.agent = agent }

  private final class Handle: AttachmentDownloadHandle, AttachmentUploadHandle {
    var whole: Attachment? { nil }
    func answered(_ error: SegueError?) {}
    func stop(_ error: SegueError) {}
    func stop() {}
    func join() {}
    func join(until uptime: Int64) {}
  }

  func download(
    _ attachment: Attachment, ask: @escaping (Message.AttachmentPart, PassedDescriptor, Int64) -> Identifier?,
    ended: @escaping (SegueError?) -> Void
  ) throws(SegueError) -> any AttachmentDownloadHandle {
    agent.later(0) { ended(SegueError(.connectionUnavailable, "the agents of fleets collect none")) }
    return Handle()
  }

  func read(_ key: StoredAttachmentKey, _ done: @escaping (Result<AttachmentSource, SegueError>) -> Void) {
    agent.later(0) { done(.failure(SegueError(.notFound, "attachment: the agent has none of that name"))) }
  }

  func canSend(_ request: StreamRequest) -> Bool { true }
  func drop(_ request: StreamRequest) {}
  func upload(
    _ source: AttachmentSource, for request: StreamRequest, _ ended: @escaping () -> Void
  ) throws(SegueError) -> any AttachmentUploadHandle {
    agent.later(0, ended)
    return Handle()
  }
}
