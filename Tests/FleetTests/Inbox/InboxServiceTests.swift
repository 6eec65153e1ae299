// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire
import Testing

@testable import SegueAgentCore

/// The service of the inbox by itself, with a disk that answers when the test wants.
@Suite final class InboxServiceTests {
  private let environment = CountedEnvironment()
  private let disk = Disk()
  private let hub = Hub()
  private lazy var service = InboxService(in: environment, disk, Launcher(), at: hub) { _, _, _, done in
    done(.success(0))
  }

  private func open() throws {
    try service.open(app("com.example.agent"), Limits(), Mover()) {}
  }

  private func app(_ bundle: String) -> AppIdentity {
    AppIdentity(
      known: Identifier(high: 1, low: 1), bundleIdentifier: bundle, name: bundle, team: "TEAM", types: ["note"])
  }

  /// The apps that would continue a note, the first one first.
  private var route: [String] {
    let query = RoutingQuery(
      type: "note", team: "TEAM", bundleIdentifier: "com.example.origin", payloadVersion: 0, origin: nil)
    // The app of the origin is listed, too.
    return service.router.explain(query).candidates.map { $0.bundleIdentifier }.dropLast()
  }

  private func declare(_ bundles: [String]) {
    service.installed.catalogue = Catalogue(
      bundles.map { bundle in
        let app = AppDeclaration(
          path: "/\(bundle)", bundleIdentifier: bundle, team: "TEAM", types: ["note"],
          launch: .command(LaunchCommand(arguments: ["app"])))
        return (path: app.path, result: .success(app))
      })
  }

  /// The disk has the answer of an app that has restored an entry.
  private func restore(_ bundle: String) {
    let id = Identifier(high: 2, low: 2)
    let receiver = Receiver(id: id, deviceName: "", appName: bundle, bundleIdentifier: bundle)
    service.perform(
      InboxRequest.acknowledge(
        id, app: id, wasSent: true,
        Receipt(
          continuation: id, receiver: receiver, outcome: .restored, status: .ok, reason: "", isStale: false, date: 0)))
    disk.replies.removeLast()(.acknowledged(id, app: id, .success(nil)))
  }

  @Test func `R6.2: the app that was used last stays that when another one has answered`() throws {
    try open()
    declare(["a", "b", "c"])
    disk.preferences.removeFirst()(.success(RoutingPreferences()))
    for bundle in ["a", "b"] { service.opened(app(bundle)) }
    restore("c")
    #expect(route == ["c", "b", "a"])
    #expect(disk.preferences.isEmpty, "the disk is not asked again: it has not stored the uses yet")
  }

  @Test func `R6.2: an app that opens before the disk has said what is preferred was used after all others`() throws {
    try open()
    declare(["a", "b", "c"])
    service.opened(app("a"))
    disk.preferences.removeFirst()(.success(RoutingPreferences(uses: ["c", "b", "a"])))
    #expect(route == ["a", "c", "b"])
  }

  @Test(arguments: 0..<3) func `a service that cannot open leaves no timer`(refusedAt: Int) {
    environment.timersLeft = min(refusedAt, 2)
    hub.isRefusing = refusedAt == 2
    #expect(throws: SegueError.self) { try open() }
    #expect(environment.timers == 0)
  }
}

/// Makes timers that are counted, and at most so many.
private final class CountedEnvironment: AgentEnvironment {
  private final class Timer: AgentTimer {
    private var closed: (() -> Void)?

    init(_ closed: @escaping () -> Void) { self.closed = closed }

    func set(_ uptime: Int64?) {}

    func close() {
      closed?()
      closed = nil
    }
  }

  private let inner = TestEnvironment()
  var timers = 0
  var timersLeft = Int.max

  var now: Instant { inner.now }
  var slept: Int64 { inner.slept }
  var deviceName: String { inner.deviceName }
  func drawIdentifier() -> Identifier { inner.drawIdentifier() }
  func drawJitter() -> UInt32 { inner.drawJitter() }
  func post(_ body: @escaping () -> Void) { inner.post(body) }
  func log(_ severity: Severity, _ message: DiagnosticText) {}

  func makeTimer(for owner: any AgentTimerOwner) throws(SegueError) -> any AgentTimer {
    guard timersLeft > 0 else { throw SegueError(.system, "no timer") }
    timersLeft -= 1
    timers += 1
    return Timer { [self] in timers -= 1 }
  }
}

private final class Disk: InboxExecutor {
  var replies: [(InboxReply) -> Void] = []
  var preferences: [(Result<RoutingPreferences, SegueError>) -> Void] = []

  func perform(_ request: InboxRequest, _ done: @escaping (InboxReply) -> Void) { replies.append(done) }
  func list(_ done: @escaping (Result<[InboxEntry], SegueError>) -> Void) {}
  func remove(_ continuation: Identifier, _ done: @escaping (Result<Bool, SegueError>) -> Void) {}
  func retry(_ continuation: Identifier, _ done: @escaping (Result<Bool, SegueError>) -> Void) {}

  func loadPreferences(_ done: @escaping (Result<RoutingPreferences, SegueError>) -> Void) { preferences.append(done) }

  func choose(_ app: String?, for type: String, _ done: @escaping (Result<Void, SegueError>) -> Void) {}
  func hasTaken(_ push: PushMark, _ done: @escaping (Result<Bool, SegueError>) -> Void) {}
  func noteTaken(_ push: PushMark, _ done: @escaping (Result<Void, SegueError>) -> Void) {}
  func markUsed(_ apps: [String], _ done: @escaping (Result<Void, SegueError>) -> Void) {}
}

private final class Launcher: ProgramLauncher {
  func launch(_ app: String, _ environment: [LaunchVariable], _ done: @escaping (SegueError?) -> Void) {}
  func open(
    _ page: String, in browser: String, _ environment: [LaunchVariable], _ done: @escaping (SegueError?) -> Void
  ) {}
  func open(
    _ document: OpenedDocument, with opener: String, _ environment: [LaunchVariable],
    _ done: @escaping (SegueError?) -> Void
  ) {}
  func opened(_ app: String) {}
}

private final class Hub: AgentParticipation {
  private final class Participant: AgentParticipantHandle {
    /// No app is open, so the engine knows of none.
    func perform(_ body: (AgentEngine, Instant) -> Void) {}
    func close() {}
  }

  var isRefusing = false

  func join(_ engine: AgentEngine) throws(SegueError) -> any AgentParticipantHandle {
    guard !isRefusing else { throw SegueError(.system, "no descriptor") }
    return Participant()
  }

  func join(_ offer: KeptParticipant) throws(SegueError) -> any KeptOfferHandle {
    throw SegueError(.system, "nothing is kept here")
  }
}

/// Moves nothing: no test here has attachments.
private final class Mover: AttachmentMover {
  func download(
    _ attachment: SegueModel.Attachment,
    ask: @escaping (Message.AttachmentPart, PassedDescriptor, Int64) -> Identifier?,
    ended: @escaping (SegueError?) -> Void
  ) throws(SegueError) -> any AttachmentDownloadHandle { throw SegueError(.notFound, "no attachments") }

  func read(_ key: StoredAttachmentKey, _ done: @escaping (Result<AttachmentSource, SegueError>) -> Void) {
    done(.failure(SegueError(.notFound, "no attachments")))
  }

  func canSend(_ request: StreamRequest) -> Bool { false }
  func drop(_ request: StreamRequest) {}
  func upload(
    _ source: AttachmentSource, for request: StreamRequest, _ ended: @escaping () -> Void
  ) throws(SegueError) -> any AttachmentUploadHandle { throw SegueError(.notFound, "no attachments") }
}
