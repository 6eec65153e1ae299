import SegueDevices
import SegueDriver
import SegueEngine
import SegueAgentCore
import SegueModel
import SegueRouting
import SegueStore

@testable import SegueFleet

/// The process of an agent in a fleet: it carries the hub, and takes part at it with the service that ships (R3.8). Its
/// inbox is on the disk of its device, and is used beside everything else, one request after the other.
final class InboxAgent: FleetProcess {
  /// The one who asks for continuations.
  private let user = ControlClient(number: 1, account: .device(Identifier(high: 0, low: 1)))

  private unowned let workload: InboxWorkload
  private let disk: InboxDisk
  private let identity: AppIdentity
  private var ownParticipant: FleetParticipant<AgentEngine>?
  /// Its offers for apps that have gone (R2.5).
  private var kept: [(offer: KeptParticipant, participant: FleetParticipant<AppEngine>)] = []
  private var hasTakenPlace = false
  /// The uptime of the next deadline that is in the queue of the fleet.
  private var due: Int64?
  /// The actions to come, and their uptimes.
  private var agenda: [(at: Int64, run: () -> Void)] = []
  /// The jobs that the disk has not done yet.
  private var jobs: [Job] = []
  private var isWorking = false
  private var launching: Set<String> = []

  private lazy var service = InboxService(
    in: self, self, self, at: self,
    // These agents have no store of saved activities.
    change: { [unowned self] _, _, _, done in
      later(0) { done(.failure(SegueError(.connectionUnavailable, "no store for search"))) }
    })

  private enum Job {
    case request(InboxRequest, (InboxReply) -> Void)
    /// Something that has no part in what the oracle knows. It returns what is done once the loop hears of it.
    case other((InboxDisk) -> () -> Void)
    /// An app fetches an attachment, on this socket: of what waits, or of what an app has left.
    case serve(StreamRequest, FleetSocket, KeptParticipant?)
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

  /// Continues an offer in an app; the oracle hears the answer under that number.
  func `continue`(_ activity: Identifier, in app: String, timeout: Int64? = nil, _ number: UInt64) {
    service.continue(activity, app: app, timeout: timeout, environment: [], for: user) { [unowned self] result in
      workload.oracle.answered(number, result, at: fleet.clock.uptime)
    }
  }

  func retry(_ continuation: Identifier) { service.retry(continuation) }

  /// The user forgets an entry.
  func remove(_ continuation: Identifier) {
    fleet.trace(name, "is to forget an entry")
    service.remove(continuation) { _ in }
  }

  /// The user withdraws what an app has left.
  func withdraw(_ activity: Identifier) {
    fleet.trace(name, "is to withdraw what was left")
    workload.oracle.kept.withdraws(activity)
    service.withdraw(activity) { [unowned self] error in
      workload.oracle.kept.withdrawn(activity, error, on: device)
    }
  }

  /// The activities that it offers for apps that have gone.
  var keptOffers: [Identifier] { kept.map { $0.offer.activity } }
  override func offers(_ activity: Identifier) -> Bool { keptOffers.contains(activity) }

  var leak: StaticString? { ownParticipant?.engine.leak }

  /// Whether the agent knows of an open app.
  private func knows(_ bundle: String) -> Bool { !service.running(bundle).isEmpty }

  /// The hub of a participant was left.
  func seek(_ search: NextHubAttempt, for participant: any HubSeeker) {
    later(fleet.random.within(0, 2)) { [unowned self] in election?.follow(search, for: participant, fleet.clock.uptime)
    }
  }

  func connected(_ participant: any HubSeeker, _ connection: Connection) {
    if participant === self.ownParticipant { self.connection = connection }
  }

  func schedule(_ next: Int64?) {
    guard let next, due.map({ next < $0 }) ?? true else { return }
    due = next
    fleet.push(.deadline(self, next), at: next)
  }

  // MARK: FleetProcess

  override var participant: Identifier? { identity.id }

  override func beginAgent() {
    super.beginAgent()
    service.catalogue = workload.catalogue
    do throws(SegueError) {
      try service.open(identity, Limits()) { [unowned self] perform, _ in
        InboxCollections(self, perform)
      } _: {
      }
    } catch { fleet.report(name, "\(error.message)") }
  }

  override func seek(_ search: NextHubAttempt?) {
    super.seek(search)
    guard !hasTakenPlace, let ownParticipant else { return }
    hasTakenPlace = true
    election?.add(ownParticipant, fleet.clock.uptime)
  }

  override func receive() {
    ownParticipant?.receive()
    for each in kept { each.participant.receive() }
  }

  override func flush() {
    ownParticipant?.flush()
    for each in kept { each.participant.flush() }
  }

  override func isDue(_ at: Int64) -> Bool { due == at }

  override func tick() {
    due = nil
    ownParticipant?.tick()
    for each in kept { each.participant.tick() }
  }

  /// In order: what waits for the disk is done first.
  override func leave() {
    guard isAlive else { return }
    flush()
    service.close()
    for case .request(let request, _) in jobs { workload.oracle.note(request, disk.run(request), of: self) }
    super.leave()
  }

  override func end() {
    ownParticipant?.abandon()
    ownParticipant = nil
    for each in kept { each.participant.abandon() }
    kept = []
    jobs = []
    agenda = []
    disk.release()
    super.end()
  }

  override func tearDown() {
    ownParticipant = nil
    for each in kept { each.participant.tearDown() }
    kept = []
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

  /// An app fetches an attachment: of what it gets, or of what an app has left.
  func serve(_ request: StreamRequest, _ offer: KeptParticipant?) {
    guard let socket = unsafeDowncast(request.descriptor, to: FleetDescriptor.self).takeSocket() else {
      return fleet.report(name, "R7.6: the agent is to send on what is no stream")
    }
    jobs.append(.serve(request, socket, offer))
    work()
  }

  private func work() {
    guard !isWorking, !jobs.isEmpty else { return }
    isWorking = true
    later(fleet.random.within(0, disk.slowness)) { [unowned self] in
      switch jobs.removeFirst() {
      case .request(let request, let done):
        let reply = disk.run(request)
        workload.oracle.note(request, reply, of: self)
        later(fleet.random.within(0, disk.slowness)) { [unowned self] in finish(request, reply, done) }
      case .other(let body):
        let answer = body(disk)
        later(fleet.random.within(0, disk.slowness)) { [unowned self] in
          isWorking = false
          answer()
          work()
        }
      case .serve(let request, let socket, let offer):
        let result = disk.attachment(of: request, in: offer?.activity)
        later(fleet.random.within(0, disk.slowness)) { [unowned self] in done(request, on: socket, result, offer) }
      }
    }
  }

  /// Answers a fetch. The bytes that were read are in the socket when the app hears of it.
  private func done(
    _ request: StreamRequest, on socket: FleetSocket, _ result: Result<[UInt8], SegueError>, _ offer: KeptParticipant?
  ) {
    isWorking = false
    var refusal: SegueError?
    switch result {
    case .success(let bytes): bytes.withUnsafeBytes { _ = socket.write($0) }
    case .failure(let error): refusal = error
    }
    socket.close()
    if let offer {
      kept.first { $0.offer === offer }?.participant.perform { _, _ in offer.answer(request, refusal) }
    } else {
      ownParticipant?.perform { engine, _ in engine.answer(request, refusal) }
    }
    work()
  }

  private func finish(_ request: InboxRequest, _ reply: InboxReply?, _ done: (InboxReply) -> Void) {
    isWorking = false
    if let reply { done(reply) }
    if case .put(_, .success)? = reply, case .put(let record, _) = request {
      // Otherwise it would wait for somebody to open the app.
      if !knows(record.app), !launching.contains(record.app) {
        fleet.report(name, "R3.8: an entry waits, and its app neither runs nor is launched")
      }
    }
    work()
  }
}

extension InboxAgent: AgentEnvironment {
  var slept: Int64 { 0 }
  var deviceName: String { device.name }
  func drawIdentifier() -> Identifier { fleet.drawIdentifier() }
  func drawJitter() -> UInt32 { UInt32(truncatingIfNeeded: fleet.random.next()) }
  func post(_ body: @escaping () -> Void) { later(0, body) }
  func makeTimer(_ body: @escaping () -> Void) -> any AgentTimer { AgendaTimer(in: self, body) }

  func log(_ severity: Severity, _ message: DiagnosticText) {
    if severity.rawValue <= Severity.info.rawValue { fleet.trace(name, "says", text: message) }
  }
}

/// A timer on the agenda of an agent.
private final class AgendaTimer: AgentTimer {
  private unowned let agent: InboxAgent
  private var body: (() -> Void)?
  private var dueAt: Int64?

  init(in agent: InboxAgent, _ body: @escaping () -> Void) { (self.agent, self.body) = (agent, body) }

  func set(_ uptime: Int64?) {
    dueAt = uptime
    guard let uptime else { return }
    agent.later(max(0, uptime - agent.uptime)) { [self] in
      guard dueAt == uptime else { return }
      dueAt = nil
      body?()
    }
  }

  func close() { (dueAt, body) = (nil, nil) }
}

extension InboxAgent: InboxExecutor {
  func perform(_ request: InboxRequest, _ done: @escaping (InboxReply) -> Void) {
    jobs.append(.request(request, done))
    work()
  }

  func list(_ done: @escaping (Result<[InboxEntry], SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.entries() }, done)
  }

  func remove(_ continuation: Identifier, _ done: @escaping (Result<Bool, SegueError>) -> Void) {
    let date = now.date
    use(
      { [workload] inbox throws(SegueError) in
        let isRemoved = try inbox.drop(continuation, at: date)
        if isRemoved { workload.oracle.removed(continuation) }
        return isRemoved
      }, done)
  }

  func retry(_ continuation: Identifier, _ done: @escaping (Result<Bool, SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.retry(continuation) }, done)
  }

  func loadPreferences(_ done: @escaping (Result<RoutingPreferences, SegueError>) -> Void) {
    use(
      { inbox throws(SegueError) in RoutingPreferences(choices: try inbox.choices(), uses: try inbox.uses()) }, done)
  }

  func choose(_ app: String?, for type: String, _ done: @escaping (Result<Void, SegueError>) -> Void) {
    use({ inbox throws(SegueError) in try inbox.choose(app, for: type) }, done)
  }

  func markUsed(_ apps: [String], _ done: @escaping (Result<Void, SegueError>) -> Void) {
    let date = now.date
    use({ inbox throws(SegueError) in try inbox.markUsed(apps, at: date) }, done)
  }

  private func use<Success>(
    _ body: @escaping (Inbox) throws(SegueError) -> Success,
    _ done: @escaping (Result<Success, SegueError>) -> Void
  ) {
    jobs.append(
      .other { disk in
        let result: Result<Success, SegueError>
        do throws(SegueError) { result = .success(try disk.perform(body)) } catch { result = .failure(error) }
        return { done(result) }
      })
    work()
  }
}

extension InboxAgent: ProgramLauncher {
  /// One launch of an app at a time, as in the product.
  func launch(
    _ app: String, _ environment: [LaunchVariable], _ done: @escaping (SegueError?) -> Void
  ) throws(SegueError) {
    if knows(app) { fleet.report(name, "R3.8: an app is launched that is open") }
    guard launching.insert(app).inserted else { throw SegueError(.busy, "a launch is under way") }
    workload.launch(app, by: self, done)
  }

  /// The launch of an app has ended, or takes too long.
  func launchEnded(_ bundle: String) { launching.remove(bundle) }

  func opened(_ app: String) { launching.remove(app) }
}

extension InboxAgent: AgentParticipation {
  func join(_ engine: AgentEngine) -> any AgentParticipantHandle {
    let participant = FleetParticipant(engine, in: self) { [unowned self] in
      if let broken = engine.brokenInvariant { fleet.report(name, "\(broken)") }
    }
    self.ownParticipant = participant
    later(0) { participant.settle() }
    return participant
  }

  func join(_ offer: KeptParticipant) -> any KeptOfferHandle {
    workload.oracle.kept.offers(offer.activity, as: offer.engine.identity.id, on: device)
    let participant = FleetParticipant(offer.engine, in: self) { offer.refuseRequests() }
    kept.append((offer, participant))
    election?.add(participant, fleet.clock.uptime)
    participant.settle()
    return KeptParticipation(participant) { [unowned self] in kept.removeAll { $0.offer === offer } }
  }
}

extension FleetParticipant: AgentParticipantHandle where Engine == AgentEngine {}

/// An offer that an agent keeps, at the hub.
private final class KeptParticipation: KeptOfferHandle {
  private let participant: FleetParticipant<AppEngine>
  private let closed: () -> Void

  init(_ participant: FleetParticipant<AppEngine>, _ closed: @escaping () -> Void) {
    (self.participant, self.closed) = (participant, closed)
  }

  func perform(_ body: () -> Void) { participant.perform { _, _ in body() } }

  func close() {
    participant.close()
    closed()
  }
}
