import SegueApp
import SegueEngine
import SegueModel
import SegueWire

/// An app that acts and answers as configured, for a `Workload`. The apps of the tests also observe what happens.
class ScriptedApp: FleetProgram, AppEngineOwner {
  let process: FleetProcess
  private(set) var engine: AppEngine?
  let identity: AppIdentity
  let savePolicy: SavePolicy
  private var due: [Delivery] = []

  /// The most activities that it keeps; the oldest is dropped, as if it were invalidated.
  static let activityLimit = 4
  private var activities: [KnownActivity] = []
  /// What it has continued: ScriptedApp+Resumptions.swift.
  var kept: [KnownActivity] = []
  /// Its windows: ScriptedApp+Responders.swift.
  var responders = ScriptedResponders()

  // How it answers.
  var answersSaves = true
  var answersContinue = true
  var declines = false
  var handles = true
  var restores = true
  /// Whether it invalidates continued activities.
  var moves = false
  /// The text that will_save writes into the activity; nil for none.
  var numberOnSave: Int?
  private var pendingSaves: [(activity: Identifier, save: UInt64)] = []
  private(set) var pendingAnswers: [Identifier] = []
  private var pendingRequests: [(number: UInt64, bytes: [UInt8])] = []
  /// Whether it reads from its streams.
  var readsStreams = true
  /// Ends of streams.
  var streams: [ScriptedStream] = []

  private var isReady = false

  /// Throws INVALID_STATE if the device is down.
  convenience init(
    _ identity: AppIdentity, on device: FleetDevice, offersFrontmostOnly: Bool = false
  ) throws(SegueError) {
    self.init(identity, in: try device.start(identity.name, offersFrontmostOnly: offersFrontmostOnly))
  }

  /// - Parameter process: a new one.
  init(_ identity: AppIdentity, in process: FleetProcess) {
    self.identity = identity
    self.process = process
    // Derived from its name, so that the randomness of a workload is not affected.
    savePolicy = identity.id.bytes[0] & 1 == 0 ? .whenPulled : .whenNeeded
    let engine = AppEngine(identity: identity, limits: Limits(), savePolicy: savePolicy, owner: self)
    self.engine = engine
    process.begin(self, engine)
  }

  var isAlive: Bool { engine != nil }
  /// Whether it is neither gone nor stopped.
  var isAwake: Bool { engine != nil && !process.isStalled }
  var offers: [Offer] { engine?.offers.all ?? [] }
  var activityCount: Int { activities.count }
  var current: Activity? { engine?.currentActivity.flatMap { activity($0) } }

  /// Called with all that a checker of the history has to know: does nothing in the product.
  func observe(_ event: HistoryEvent) {}

  // MARK: Actions

  /// Creates an activity that holds a number, and bytes that identify it.
  static func activity(_ type: String, _ number: Int, size: Int) throws(SegueError) -> Activity {
    var activity = try Activity(type: type)
    try write(number, size: size, to: &activity)
    activity.setSupportsContinuationStreams(number % 4 != 0)
    return activity
  }

  static func write(_ number: Int, size: Int? = nil, to activity: inout Activity) throws(SegueError) {
    let size = size ?? activity.userInfo?["d"]?.data?.count ?? 0
    let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
    try activity.setTitle(Self.title(number))
    try activity.setUserInfo(
      .dictionary([(key: .string("d"), value: .data(bytes)), (key: .string("n"), value: .integer(Int64(number)))]),
      limit: Limits.value)
  }

  private static func title(_ number: Int) -> String { String(joining: "T\(number)") }

  /// The number of such an activity; nil if its contents have changed.
  static func number(of activity: Activity) -> Int? {
    guard let number = activity.userInfo?["n"]?.int64.map({ Int($0) }), Text.isSame(activity.title, Self.title(number)),
      let bytes = activity.userInfo?["d"]?.data, bytes.allSatisfy({ $0 == UInt8(truncatingIfNeeded: number) })
    else { return nil }
    return number
  }

  func becomeCurrent(_ id: Identifier, _ activity: Activity) {
    observe(.activity(id, activity))
    if activities.count == Self.activityLimit { invalidate(0) }
    activities.append(KnownActivity(id, activity, process.now.uptime))
    becomeCurrent(activities.count - 1)
  }

  func becomeCurrent(_ index: Int) {
    let known = activities[index]
    process.does("becomes current", known.activity.title)
    perform { $0.becomeCurrent(known.id, $1) }
  }

  func resignCurrent(_ index: Int) {
    let known = activities[index]
    process.does("resigns current")
    saving(known.id) { perform { $0.resignCurrent(known.id, $1) } }
  }

  func invalidate(_ index: Int) {
    let id = activities[index].id
    process.does("invalidates")
    drop(id)
    perform { $0.invalidate(id, $1) }
  }

  /// An activity is invalidated: its own, or one that it keeps.
  func drop(_ id: Identifier) {
    responders.forget(id)
    kept.removeAll { $0.id == id }
    guard let index = activities.firstIndex(where: { $0.id == id }) else { return }
    activities.remove(at: index)
    observe(.activity(id, nil))
  }

  func change(_ index: Int, _ change: (inout Activity) throws(SegueError) -> Void) throws(SegueError) {
    try self.change(activities[index], change)
  }

  func change(
    _ known: KnownActivity, _ change: (inout Activity) throws(SegueError) -> Void
  ) throws(SegueError) {
    let former = Self.number(of: known.activity)
    try change(&known.activity)
    if Self.number(of: known.activity) != former { known.draft = nil }
    observe(known, in: known.activity)
    known.changedAt = process.now.uptime
    process.does("changes", known.activity.title)
    perform { $0.changed(known.id, $1) }
  }

  /// Its user writes, and the app does not report it, not even by `needs_save` (R2.9).
  func edit(_ index: Int, _ number: Int) throws(SegueError) { try edit(activities[index], number) }

  func edit(_ known: KnownActivity, _ number: Int) throws(SegueError) {
    known.draft = number
    process.does("edits", Self.title(number))
    guard case .whenPulled = savePolicy else { return }
    var written = known.activity
    try Self.write(number, to: &written)
    observe(known, in: written)
  }

  private func observe(_ known: KnownActivity, in state: Activity) {
    if let from = known.from { observe(.kept(from, state)) } else { observe(.activity(known.id, state)) }
  }

  /// Declares its activity up to date (R2.9).
  func declareSaved(_ index: Int) {
    let known = activities[index]
    known.activity.declareNeedsSave(false)
    perform { $0.changed(known.id, $1) }
  }

  /// Changes without telling the engine (R2.3).
  func noteChange(_ index: Int) { activities[index].changedAt = process.now.uptime }

  func setForeground(_ isForeground: Bool) {
    process.does(isForeground ? "comes to the foreground" : "goes to the background")
    if isForeground {
      perform { $0.setForeground(true, $1) }
    } else {
      saving(engine?.currentActivity) { perform { $0.setForeground(false, $1) } }
    }
  }

  /// The next call saves the activity, if it is current and dirty (R2.2), and not one that is being restored (R4.2).
  private func saving(_ id: Identifier?, _ call: () -> Void) {
    let former = id == engine?.currentActivity ? id.flatMap { known($0) } : nil
    let isAnswered = former.map { self.isAnswered($0) } ?? true
    call()
    guard let former, isAnswered, former.activity.needsSave, former.saves == 0 else { return }
    guard !pendingSaves.contains(where: { $0.activity == former.id }) else { return }
    process.complain("R2.2: it is no longer current or in the foreground, and was not saved")
  }

  func `continue`(_ offer: Offer, _ id: Identifier, timeout: Int64? = nil) {
    observe(.continues(id, offer))
    process.began(.continuation(id, offer), deadline: process.now.uptime + (timeout ?? Limits().continuation))
    perform { $0.continue(offer, id: id, timeout: timeout, $1) }
  }

  /// Sends a request to the origin; sometimes with more than a window of bytes.
  private func request(_ from: ContinuedFrom) {
    request([UInt8](repeating: 7, count: process.now.uptime % 8 == 0 ? 70_000 : 100), from)
  }

  /// - Returns: the number of the answer, which is also its content.
  @discardableResult func request(_ bytes: [UInt8], _ from: ContinuedFrom, timeout: Int64? = nil) -> UInt64 {
    var number: UInt64 = 0
    perform { engine, now in
      number = engine.request(bytes, from, timeout: timeout, now)
      process.began(.request(number), deadline: now.uptime + (timeout ?? engine.limits.continuation))
      observe(.requests(number, bytes))
    }
    return number
  }

  /// Sometimes asks the origin for a stream.
  private func askStream(_ from: ContinuedFrom) {
    guard from.offer.description.supportsContinuationStreams, process.now.uptime % 3 == 0 else { return }
    askStream(process.fleet.drawIdentifier(), from)
  }

  /// Asks for a link with another device; nil for an unusable connection.
  /// - Returns: its number.
  @discardableResult func ask(_ link: DeviceLink?) -> UInt64 {
    process.does("asks for a link")
    var number: UInt64 = 0
    perform { number = $0.link(FleetDescriptor(link.map { .link($0) } ?? .nothing), $1) }
    return number
  }

  func explain(_ index: Int) {
    let known = activities[index]
    perform { engine, now in
      process.began(.explanation(engine.explain(known.id, known.activity, now)), deadline: nil)
    }
  }

  /// Answers everything that is unanswered.
  func answer() {
    let saves = pendingSaves
    let continuations = pendingAnswers
    let requests = pendingRequests
    pendingSaves = []
    pendingAnswers = []
    pendingRequests = []
    for (_, save) in saves { perform { $0.saved(save, $1) } }
    for id in continuations { answer(id) }
    for (number, bytes) in requests { perform { $0.respond(to: number, bytes, $1) } }
  }

  @inline(never)
  private func answer(_ id: Identifier) {
    // Otherwise its time is over, and the engine has answered.
    if engine?.isAwaited(id) ?? false { observe(.answers(id, !handles ? .declined : restores ? .restored : .failed)) }
    perform { $0.answer(id, handled: handles, restored: restores, $1) }
  }

  @inline(never)
  func close() {
    guard isAlive else { return }
    saving(engine?.currentActivity) { perform { $0.startClosing($1) } }
    runCallbacks()
    perform { $0.finishClosing($1) }
    runCallbacks()
    process.checkObligations()
    process.leave()
    engine = nil
    streams = []
  }

  // MARK: FleetProgram

  func perform(_ call: (AppEngine, Instant) -> Void) { process.perform(call) }

  var hasCallbacks: Bool { !due.isEmpty }
  func engineCalled() {}

  var activitySource: (any ActivitySource)? { self }

  func deliver(_ delivery: Delivery) { due.append(delivery) }

  @inline(never)
  func runCallbacks() {
    while !due.isEmpty {
      var deliveries: [Delivery] = []
      swap(&deliveries, &due)
      deliveries.reverse()
      while let delivery = deliveries.popLast() {
        process.willRun(delivery)
        run(delivery)
      }
    }
  }

  func died() {
    engine = nil
    streams = []
  }

  private func run(_ delivery: Delivery) {
    switch delivery {
    case .willSave(let activity, let save): run(save, of: activity)
    case .continuation(let id): run(id)
    case .continuationEnded(let activity, let receipt): observe(.receipt(receipt, of: activity))
    case .offer(let event, let offer): observe(.offer(event, offer.description.id))
    case .wasContinued(let activity, _):
      if moves, let index = activities.firstIndex(where: { $0.id == activity }) { invalidate(index) }
    case .requestCame(let number, _, let bytes):
      guard answersContinue else { return pendingRequests.append((number, bytes)) }
      perform { $0.respond(to: number, bytes, $1) }
    case .streamAnswered(let id, let error): start(id, error)
    case .streamCame(let id, _): came(id)
    case .streamEnded(let id, let status): end(id, status)
    case .answered(let number, let bytes, let error): observe(.answered(number, bytes, error?.status))
    case .connection(let isReady):
      if isReady == self.isReady { process.complain("section 9: it is told again how its connection is") }
      self.isReady = isReady
    case .leftAlone(let activity): decide(activity)
    case .documentChanged, .explanation, .linked, .linkEnded, .log: break
    }
  }

  private func run(_ save: UInt64, of activity: Identifier) {
    perform { engine, _ in
      guard let plan = engine.saveBegan(save) else { return }
      if plan.responders.map({ $0.number }) != responders.plan(for: activity) {
        process.complain("R4.2: a save asks others than the responders of the activity, or in another order")
      }
    }
    if let known = known(activity) {
      if known.saves == 0, case .whenNeeded = savePolicy {
        process.complain("R2.2: will_save, and nothing needs saving")
      }
      known.saves = 0
      if let number = numberOnSave ?? known.draft {
        // What a string of digits holds always fits.
        try? change(known) { (activity) throws(SegueError) in
          try activity.update(whileSaving: true) { (activity) throws(SegueError) in
            try Self.write(number, to: &activity)
          }
        }
      }
    }
    if answersSaves { perform { $0.saved(save, $1) } } else { pendingSaves.append((activity, save)) }
  }

  private func run(_ id: Identifier) {
    var due: ContinuationStep?
    perform { due = $0.step(id, $1) }
    guard let step = due else { return }
    process.willRun(step, of: id)
    observe(.step(step, of: id))
    switch step {
    case .willContinue:
      if declines { observe(.answers(id, .declined)) }
      perform { $0.announced(id, decline: declines ? "not now" : nil, $1) }
    case .continue(let state, let from):
      keep(state, from)
      request(from)
      askStream(from)
      guard answersContinue else { return pendingAnswers.append(id) }
      answer(id)
    case .willResumeBack: perform { $0.answerResumption(id, true, $1) }
    case .resumedBack: perform { $0.answer(id, handled: true, restored: true, $1) }
    case .didFail, .openingFailed: break
    }
  }

  // MARK: ActivitySource

  func activity(_ id: Identifier) -> Activity? { known(id)?.activity }
  func lastChange(of id: Identifier) -> Int64 { known(id)?.changedAt ?? 0 }
  func changeCount(of id: Identifier) -> UInt64 { known(id)?.changeCount ?? 0 }
  func replace(_ id: Identifier, with state: Activity, ifChangeCountIs count: UInt64?) -> Activity? {
    guard let known = known(id), count.map({ $0 == known.changeCount }) ?? true else { return nil }
    replace(known, with: state)
    return known.activity
  }
  func continuation(of id: Identifier) -> Identifier? { known(id)?.from?.continuation }
  func kept(by continuation: Identifier) -> (activity: Identifier, origin: Identifier)? {
    for known in kept {
      if let from = known.from, from.continuation == continuation { return (known.id, from.offer.origin) }
    }
    return nil
  }
  func answersWillSave(_ id: Identifier) -> Bool { true }
  func handOver(_ source: AttachmentSource) -> (descriptor: PassedDescriptor, changed: UInt64)? {
    (FleetDescriptor(), 0)
  }
  func takesStreams(_ id: Identifier) -> Bool { true }
  func takesRequests(_ id: Identifier) -> Bool { true }
  func streamEnd(_ id: Identifier) -> StreamStatus { stream(id) == nil ? .aborted(0) : .open }

  func setNeedsSave(_ needsSave: Bool, of id: Identifier) {
    guard let known = known(id) else { return }
    if known.activity.needsSave, !needsSave { known.saves += 1 }
    known.activity.markNeedsSave(needsSave)
  }

  private func known(_ id: Identifier) -> KnownActivity? {
    activities.first { $0.id == id } ?? kept.first { $0.id == id }
  }

  /// Those of its own, then those of what it keeps.
  var activityIdentifiers: [Identifier] { (activities + kept).map { $0.id } }

  /// The identifier of an activity of its own.
  func identifier(of index: Int) -> Identifier { activities[index].id }
}
