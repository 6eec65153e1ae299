import SegueDriver
import SegueEngine
import SegueModel

@testable import SegueFleet

/// The process of an agent in a fleet: it carries the hub, and takes part at it with the engine that ships (R3.8). Its
/// inbox is on the disk of its device, and is used beside everything else, one request after the other.
final class InboxAgent: FleetProcess {
  private unowned let workload: InboxWorkload
  private let disk: InboxDisk
  private let identity: AppIdentity
  private var agentDriver: AppDriver<AgentEngine>?
  private lazy var seeker = Seeker(self)
  private var hasTakenPlace = false
  /// The uptime of the engine's deadline that is in the queue of the fleet.
  private var due: Int64?
  /// What is to be done at which uptime.
  private var agenda: [(at: Int64, run: () -> Void)] = []
  /// What the disk has not done yet.
  private var jobs: [Job] = []
  private lazy var collections = InboxCollections(self)
  private var isWorking = false
  private var launching: Set<String> = []

  private enum Job {
    case request(InboxRequest)
    /// An app fetches an attachment, on this socket.
    case serve(StreamRequest, FleetSocket)
  }

  init(on device: FleetDevice, _ disk: InboxDisk, _ workload: InboxWorkload) {
    self.workload = workload
    self.disk = disk
    identity = AppIdentity(
      secret: Identifier(high: 0xa9e7, low: UInt64(device.index)), bundleIdentifier: "org.segue.agent",
      name: "segue-agent", team: "", types: [], isChooser: true)
    super.init("\(device.name)/agent", on: device, offersFrontmostOnly: false, isAgent: true)
  }

  // MARK: For those who ask

  func `continue`(_ request: ColdStartRequest) { call { $0.continue(request, $1) } }
  func launched(_ number: UInt64, _ error: SegueError?) { call { $0.launched(number, error, $1) } }
  func retry(_ continuation: Identifier) { call { engine, _ in engine.retry(continuation) } }

  var leak: StaticString? { agentDriver?.engine.leak }

  /// Whether the agent knows of an open app.
  private func knows(_ bundle: String) -> Bool {
    agentDriver?.engine.runningApps.contains { $0.bundleIdentifier == bundle } ?? false
  }

  func call(_ body: (AgentEngine, Instant) -> Void) {
    guard let agentDriver else { return }
    body(agentDriver.engine, now)
    settle()
  }

  private func settle() {
    guard let agentDriver else { return }
    if let departure = agentDriver.drain(now) {
      later(fleet.random.within(0, 2)) { [unowned self] in
        election?.follow(departure.search, for: seeker, fleet.clock.uptime)
      }
    }
    checkQueue()
    if let broken = agentDriver.engine.brokenInvariant { fleet.report(name, "\(broken)") }
    guard let next = agentDriver.nextDeadline, due.map({ next < $0 }) ?? true else { return }
    due = next
    fleet.push(.deadline(self, next), at: next)
  }

  // MARK: FleetProcess

  override var participant: Identifier? { identity.id }

  override func beginAgent() {
    super.beginAgent()
    agentDriver = AppDriver(AgentEngine(identity: identity, limits: Limits(), owner: self), in: directory)
    settle()
  }

  override func seek(_ search: HubSearch?) {
    super.seek(search)
    guard !hasTakenPlace else { return }
    hasTakenPlace = true
    election?.add(seeker, fleet.clock.uptime)
  }

  override func receive() {
    agentDriver?.receive(now)
    settle()
  }

  override func flush() {
    agentDriver?.flush(now)
    checkQueue()
  }

  private func checkQueue() {
    if let link = agentDriver?.engine.link { fleet.checker.checkQueue(link, of: self) }
  }

  override func isDue(_ at: Int64) -> Bool { due == at }

  override func tick() {
    due = nil
    call { engine, now in
      guard let next = engine.nextDeadline, next <= now.uptime else { return }
      engine.tick(now)
      if let next = engine.nextDeadline, next <= now.uptime {
        fleet.report(name, "a deadline of the agent that has passed stays due: it would be busy for ever")
      }
    }
  }

  /// In order: what waits for the disk is done first.
  override func leave() {
    guard isAlive else { return }
    flush()
    for case .request(let request) in jobs { workload.oracle.note(request, disk.run(request), of: self) }
    super.leave()
  }

  override func end() {
    agentDriver?.abandon()
    agentDriver = nil
    jobs = []
    agenda = []
    disk.release()
    super.end()
  }

  override func tearDown() {
    agentDriver = nil
    agenda = []
    super.tearDown()
  }

  // MARK: Time

  func later(_ milliseconds: Int64, _ body: @escaping () -> Void) {
    agenda.append((fleet.clock.uptime + milliseconds, body))
    wake(in: milliseconds)
  }

  override func woken() {
    guard directory.isInPlace else { return leave() }
    while let index = agenda.firstIndex(where: { $0.at <= fleet.clock.uptime }) { agenda.remove(at: index).run() }
  }

  // MARK: The inbox

  private func work() {
    guard !isWorking, !jobs.isEmpty else { return }
    isWorking = true
    later(fleet.random.within(0, disk.slowness)) { [unowned self] in
      switch jobs.removeFirst() {
      case .request(let request):
        let reply = disk.run(request)
        workload.oracle.note(request, reply, of: self)
        later(fleet.random.within(0, disk.slowness)) { [unowned self] in done(request, reply) }
      case .serve(let request, let socket):
        let result = disk.attachment(of: request)
        later(fleet.random.within(0, disk.slowness)) { [unowned self] in done(request, on: socket, result) }
      }
    }
  }

  /// What was read is in the socket when the app hears of it.
  private func done(_ request: StreamRequest, on socket: FleetSocket, _ result: Result<[UInt8], SegueError>) {
    isWorking = false
    var refusal: SegueError?
    switch result {
    case .success(let bytes): bytes.withUnsafeBytes { _ = socket.write($0) }
    case .failure(let error): refusal = error
    }
    socket.close()
    call { engine, _ in engine.answer(request, refusal) }
    work()
  }

  private func done(_ request: InboxRequest, _ reply: InboxReply?) {
    isWorking = false
    if let reply { call { $0.stored(reply, of: request, $1) } }
    if case .put(_, nil)? = reply, case .put(let record) = request {
      // Otherwise it would wait for somebody to open the app.
      if !knows(record.app), !launching.contains(record.app) {
        fleet.report(name, "R3.8: an entry waits, and its app neither runs nor is launched")
      }
    }
    work()
  }

  /// The participant as the election sees it.
  private final class Seeker: HubSeeker {
    private unowned let agent: InboxAgent

    init(_ agent: InboxAgent) { self.agent = agent }

    var hubGeneration: UInt64? { agent.agentDriver?.generation }
    var offersFrontmostOnly: Bool { false }
    func prepare() throws(SegueError) {}

    func connected(to hub: any ByteConnection, generation: UInt64) throws(SegueError) {
      // The directory creates no other kind.
      agent.connection = unsafeDowncast(hub, to: ConnectionEnd.self).connection
      agent.agentDriver?.connected(hub, generation: generation, agent.now)
      agent.settle()
    }

    func disconnect() {
      agent.agentDriver?.disconnect(agent.now)
      agent.settle()
    }

    func backlogFull(at generation: UInt64) -> HubSearch {
      agent.agentDriver?.backlogFull(at: generation, agent.now) ?? .retry(generation, after: 0)
    }

    func couldNotConnect(_ error: SegueError) -> Int64 { agent.agentDriver?.couldNotConnect(error) ?? 0 }
  }
}

extension InboxAgent: AgentOwner {
  func drawIdentifier() -> Identifier? { fleet.drawIdentifier() }

  func choose(_ choice: AppChoice) throws(SegueError) -> ChosenApp {
    guard let wanted = choice.wanted else { throw SegueError(.notFound, "continue: no app here declares it") }
    return ChosenApp(bundleIdentifier: wanted, name: wanted)
  }

  func began(_ number: UInt64, _ continuation: Identifier, in app: ChosenApp) {}

  func collect(_ attachments: [Attachment], of continuation: Identifier) {
    collections.begin(attachments, of: continuation)
  }

  func stopCollecting(_ continuation: Identifier) { collections.stop(continuation) }
  func streamAnswered(_ id: Identifier, _ error: SegueError?) { collections.answered(id, error) }

  func serve(_ request: StreamRequest) {
    guard let socket = unsafeDowncast(request.descriptor, to: FleetDescriptor.self).takeSocket() else {
      return fleet.report(name, "R7.6: the agent is to send on what is no stream")
    }
    jobs.append(.serve(request, socket))
    work()
  }

  /// One launch of an app at a time, as in the product.
  func launch(_ app: ChosenApp, for number: UInt64) {
    if knows(app.bundleIdentifier) { fleet.report(name, "R3.8: an app is launched that is open") }
    guard launching.insert(app.bundleIdentifier).inserted else {
      return later(0) { [unowned self] in launched(number, nil) }
    }
    workload.launch(app.bundleIdentifier, for: number, by: self)
  }

  /// The launch of an app has ended, or takes too long.
  func launchEnded(_ bundle: String) { launching.remove(bundle) }

  func opened(_ app: AppIdentity) { launching.remove(app.bundleIdentifier) }

  func perform(_ request: InboxRequest) {
    jobs.append(.request(request))
    work()
  }

  /// No app of this workload asks that an activity stays offered (R2.5).
  func join(_ offer: KeptParticipant) { fleet.report(name, "R2.5: the agent offers what nobody has left") }
  func leave(_ offer: KeptParticipant) {}

  /// These agents have no store of saved activities.
  func change(_ change: SavedChange, of app: AppIdentity, _ number: UInt64) {
    later(0) { [unowned self] in
      call { engine, _ in engine.changed(number, .failure(SegueError(.connectionUnavailable, "no store for search"))) }
    }
  }

  func answer(_ number: UInt64, _ result: Result<ColdStartReport, SegueError>) {
    workload.oracle.answered(number, result, at: fleet.clock.uptime)
  }

  func log(_ severity: Severity, _ message: DiagnosticText) {
    if severity.rawValue <= Severity.info.rawValue { fleet.trace(name, "says", text: message) }
  }
}
