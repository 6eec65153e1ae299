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
  private var seat: AgentSeat<AgentEngine>?
  /// Its offers for apps that have gone (R2.5).
  private var kept: [(offer: KeptParticipant, seat: AgentSeat<AppEngine>)] = []
  private var withdrawals: [(number: UInt64, activity: Identifier)] = []
  private var hasTakenPlace = false
  /// The uptime of the next deadline that is in the queue of the fleet.
  private var due: Int64?
  /// The actions to come, and their uptimes.
  private var agenda: [(at: Int64, run: () -> Void)] = []
  /// The jobs that the disk has not done yet.
  private var jobs: [Job] = []
  private lazy var collections = InboxCollections(self)
  private var isWorking = false
  private var launching: Set<String> = []

  private enum Job {
    case request(InboxRequest)
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

  func `continue`(_ request: ColdStartRequest) { call { $0.continue(request, $1) } }
  func launched(_ continuation: Identifier, _ error: SegueError?) { call { $0.launched(continuation, error, $1) } }
  func retry(_ continuation: Identifier) { call { engine, _ in engine.retry(continuation) } }

  /// The user withdraws what an app has left.
  func withdraw(_ activity: Identifier) {
    fleet.trace(name, "is to withdraw what was left")
    workload.oracle.kept.withdraws(activity)
    withdrawals.append((UInt64(withdrawals.count), activity))
    call { [withdrawals] in $0.withdraw(activity, for: UInt64(withdrawals.count - 1), $1) }
  }

  /// The activities that it offers for apps that have gone.
  var keptOffers: [Identifier] { kept.map { $0.offer.activity } }
  override func offers(_ activity: Identifier) -> Bool { keptOffers.contains(activity) }

  var leak: StaticString? { seat?.engine.leak }

  /// Whether the agent knows of an open app.
  private func knows(_ bundle: String) -> Bool {
    seat?.engine.runningApps.contains { $0.bundleIdentifier == bundle } ?? false
  }

  func call(_ body: (AgentEngine, Instant) -> Void) { seat?.perform(body) }

  /// The hub of a participant was left.
  func seek(_ search: NextHubAttempt, for seat: any HubSeeker) {
    later(fleet.random.within(0, 2)) { [unowned self] in election?.follow(search, for: seat, fleet.clock.uptime) }
  }

  func connected(_ seat: any HubSeeker, _ connection: Connection) {
    if seat === self.seat { self.connection = connection }
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
    let engine = AgentEngine(identity: identity, limits: Limits(), owner: self)
    let seat = AgentSeat(engine, in: self) { [unowned self] in
      if let broken = engine.brokenInvariant { fleet.report(name, "\(broken)") }
    }
    self.seat = seat
    seat.settle()
  }

  override func seek(_ search: NextHubAttempt?) {
    super.seek(search)
    guard !hasTakenPlace, let seat else { return }
    hasTakenPlace = true
    election?.add(seat, fleet.clock.uptime)
  }

  override func receive() {
    seat?.receive()
    for each in kept { each.seat.receive() }
  }

  override func flush() {
    seat?.flush()
    for each in kept { each.seat.flush() }
  }

  override func isDue(_ at: Int64) -> Bool { due == at }

  override func tick() {
    due = nil
    seat?.tick()
    for each in kept { each.seat.tick() }
  }

  /// In order: what waits for the disk is done first.
  override func leave() {
    guard isAlive else { return }
    flush()
    call { engine, _ in engine.flush() }
    for case .request(let request) in jobs { workload.oracle.note(request, disk.run(request), of: self) }
    for each in kept { each.seat.close() }
    super.leave()
  }

  override func end() {
    seat?.abandon()
    seat = nil
    for each in kept { each.seat.abandon() }
    kept = []
    jobs = []
    agenda = []
    disk.release()
    super.end()
  }

  override func tearDown() {
    seat = nil
    for each in kept { each.seat.tearDown() }
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

  private func work() {
    guard !isWorking, !jobs.isEmpty else { return }
    isWorking = true
    later(fleet.random.within(0, disk.slowness)) { [unowned self] in
      switch jobs.removeFirst() {
      case .request(let request):
        let reply = disk.run(request)
        workload.oracle.note(request, reply, of: self)
        later(fleet.random.within(0, disk.slowness)) { [unowned self] in done(request, reply) }
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
      kept.first { $0.offer === offer }?.seat.perform { _, _ in offer.answer(request, refusal) }
    } else {
      call { engine, _ in engine.answer(request, refusal) }
    }
    work()
  }

  private func done(_ request: InboxRequest, _ reply: InboxReply?) {
    isWorking = false
    if let reply { call { $0.stored(reply, of: request, $1) } }
    if case .put(_, .success)? = reply, case .put(let record, _) = request {
      // Otherwise it would wait for somebody to open the app.
      if !knows(record.app), !launching.contains(record.app) {
        fleet.report(name, "R3.8: an entry waits, and its app neither runs nor is launched")
      }
    }
    work()
  }
}

extension InboxAgent: AgentOwner {
  // No device pushes here.
  func found(_ number: UInt64, _ result: Result<AppChoice, SegueError>) {}
  func gone(_ activity: Identifier) {}
  func drawIdentifier() -> Identifier? { fleet.drawIdentifier() }

  func choose(_ choice: AppChoice) throws(SegueError) -> ChosenApp {
    guard let wanted = choice.wanted else { throw SegueError(.notFound, "continue: no app here declares it") }
    return ChosenApp(bundleIdentifier: wanted, name: wanted, types: [])
  }

  func began(_ number: UInt64, _ continuation: Identifier, in app: ChosenApp, isShared: Bool) {}

  func collect(_ attachments: [Attachment], of continuation: Identifier, for account: Identifier?) {
    collections.begin(attachments, of: continuation)
  }

  func stopCollecting(_ continuation: Identifier) { collections.stop(continuation) }
  func streamAnswered(_ id: Identifier, _ error: SegueError?) { collections.answered(id, error) }

  func serve(_ request: StreamRequest) { serve(request, nil) }
  func serve(_ request: StreamRequest, of offer: KeptParticipant) { serve(request, offer) }

  private func serve(_ request: StreamRequest, _ offer: KeptParticipant?) {
    guard let socket = unsafeDowncast(request.descriptor, to: FleetDescriptor.self).takeSocket() else {
      return fleet.report(name, "R7.6: the agent is to send on what is no stream")
    }
    jobs.append(.serve(request, socket, offer))
    work()
  }

  /// One launch of an app at a time, as in the product.
  func launch(_ app: ChosenApp, for continuation: Identifier, _ number: UInt64) {
    if knows(app.bundleIdentifier) { fleet.report(name, "R3.8: an app is launched that is open") }
    guard launching.insert(app.bundleIdentifier).inserted else {
      return later(0) { [unowned self] in launched(continuation, nil) }
    }
    workload.launch(app.bundleIdentifier, for: continuation, by: self)
  }

  /// The launch of an app has ended, or takes too long.
  func launchEnded(_ bundle: String) { launching.remove(bundle) }

  func opened(_ app: AppIdentity) { launching.remove(app.bundleIdentifier) }

  func perform(_ request: InboxRequest) {
    jobs.append(.request(request))
    work()
  }

  // The hub may be in the middle of a call.
  func join(_ offer: KeptParticipant) {
    workload.oracle.kept.offers(offer.activity, as: offer.engine.identity.id, on: device)
    later(0) { [unowned self] in
      let seat = AgentSeat(offer.engine, in: self) { offer.refuseRequests() }
      kept.append((offer, seat))
      election?.add(seat, fleet.clock.uptime)
      seat.settle()
    }
  }

  func leave(_ offer: KeptParticipant) {
    later(0) { [unowned self] in
      guard let index = kept.firstIndex(where: { $0.offer === offer }) else { return }
      let seat = kept.remove(at: index).seat
      seat.close()
      election?.remove(seat)
    }
  }

  func withdrawn(_ number: UInt64, _ error: SegueError?) {
    workload.oracle.kept.withdrawn(withdrawals[Int(number)].activity, error, on: device)
  }

  /// These agents have no store of saved activities.
  func change(_ change: SavedChange, of app: AppIdentity, account: Identifier, _ number: UInt64) {
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
