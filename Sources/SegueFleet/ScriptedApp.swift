import SegueEngine
import SegueModel

/// An app that does and answers as it is told: the inhabitants of a `Story`.
final class ScriptedApp: FleetProgram {
  private(set) var process: FleetProcess
  private(set) var engine: AppEngine?
  private var due: [Delivery] = []

  private final class Known {
    let id: Identifier
    var activity: Activity
    var changedAt: Int64

    init(_ id: Identifier, _ activity: Activity, _ changedAt: Int64) {
      self.id = id
      self.activity = activity
      self.changedAt = changedAt
    }
  }

  /// Activities that are remembered; the oldest goes, as if it were invalidated.
  private static let activityLimit = 4
  private var activities: [Known] = []

  // How it answers.
  var answersSaves = true
  var answersContinue = true
  var declines = false
  var handles = true
  var restores = true
  private var pendingSaves: [UInt64] = []
  private var pendingAnswers: [Identifier] = []

  init(_ identity: AppIdentity, on device: FleetDevice, offersFrontmostOnly: Bool = false) throws(SegueError) {
    process = try device.start(identity.name, offersFrontmostOnly: offersFrontmostOnly)
    let engine = AppEngine(identity: identity, limits: Limits(), source: self)
    self.engine = engine
    process.begin(self, engine)
  }

  var isAlive: Bool { engine != nil }
  /// Neither gone nor stopped.
  var isAwake: Bool { engine != nil && !process.isStalled }
  var offers: [Offer] { engine?.offers.all ?? [] }
  var activityCount: Int { activities.count }

  // MARK: What it does

  func becomeCurrent(_ id: Identifier, _ activity: Activity) {
    if activities.count == Self.activityLimit { invalidate(0) }
    activities.append(Known(id, activity, process.now.uptime))
    becomeCurrent(activities.count - 1)
  }

  func becomeCurrent(_ index: Int) {
    let known = activities[index]
    process.does("becomes current", known.activity.title)
    tell { $0.becomeCurrent(known.id, $1) }
  }

  func resignCurrent(_ index: Int) {
    let id = activities[index].id
    process.does("resigns current")
    tell { $0.resignCurrent(id, $1) }
  }

  func invalidate(_ index: Int) {
    let id = activities.remove(at: index).id
    process.does("invalidates")
    tell { $0.invalidate(id, $1) }
  }

  func change(_ index: Int, _ change: (inout Activity) throws(SegueError) -> Void) throws(SegueError) {
    let known = activities[index]
    try change(&known.activity)
    known.changedAt = process.now.uptime
    process.does("changes", known.activity.title)
    tell { $0.changed(known.id, $1) }
  }

  func setForeground(_ isForeground: Bool) {
    process.does(isForeground ? "comes to the foreground" : "goes to the background")
    tell { $0.setForeground(isForeground, $1) }
  }

  func `continue`(_ offer: Offer, _ id: Identifier) {
    process.continues(id, offer, deadline: process.now.uptime + Limits().continuation)
    tell { $0.continue(offer, id: id, timeout: nil, $1) }
  }

  func cancel(_ id: Identifier) {
    process.does("cancels")
    tell { $0.cancel(id, SegueError(.userCancelled, "the user cancelled"), $1) }
  }

  func explain(_ index: Int) {
    let known = activities[index]
    tell { engine, now in process.asks(engine.explain(known.id, known.activity, now)) }
  }

  /// Answers all that it has not answered yet.
  func answer() {
    let saves = pendingSaves
    let continuations = pendingAnswers
    pendingSaves = []
    pendingAnswers = []
    for save in saves { tell { $0.saved(save, $1) } }
    for id in continuations { tell { $0.answer(id, handled: handles, restored: restores, $1) } }
  }

  func close() {
    guard isAlive else { return }
    tell { $0.startClosing($1) }
    runCallbacks()
    tell { $0.finishClosing($1) }
    runCallbacks()
    process.checkIsTold()
    process.leave()
    engine = nil
  }

  // MARK: FleetProgram

  func tell(_ call: (AppEngine, Moment) -> Void) {
    guard let engine else { return }
    call(engine, process.now)
    if due.isEmpty { due = engine.takeDeliveries() } else { due += engine.takeDeliveries() }
    process.settle(hasCallbacks: !due.isEmpty)
  }

  func runCallbacks() {
    while !due.isEmpty {
      let deliveries = due
      due = []
      for delivery in deliveries {
        process.isTold(delivery)
        run(delivery)
      }
    }
  }

  func died() { engine = nil }

  private func run(_ delivery: Delivery) {
    switch delivery {
    case .willSave(_, let save): if answersSaves { tell { $0.saved(save, $1) } } else { pendingSaves.append(save) }
    case .continuation(let id): run(id)
    case .connection, .offer, .wasContinued, .continuationEnded, .explanation, .linked, .linkEnded, .log: break
    }
  }

  private func run(_ id: Identifier) {
    guard let step = engine?.step(id) else { return }
    process.isTold(step, of: id)
    switch step {
    case .willContinue: tell { $0.announced(id, decline: declines ? "not now" : nil, $1) }
    case .continue:
      guard answersContinue else { return pendingAnswers.append(id) }
      tell { $0.answer(id, handled: handles, restored: restores, $1) }
    case .didFail: break
    }
  }

  // MARK: ActivitySource

  func activity(_ id: Identifier) -> Activity? { known(id)?.activity }
  func lastChange(of id: Identifier) -> Int64 { known(id)?.changedAt ?? 0 }
  func answersWillSave(_ id: Identifier) -> Bool { true }

  func setNeedsSave(_ needsSave: Bool, of id: Identifier) {
    known(id)?.activity.markNeedsSave(needsSave)
  }

  private func known(_ id: Identifier) -> Known? { activities.first { $0.id == id } }
}
