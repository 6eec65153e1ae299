// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel
import SegueWire

/// An `App` of a `Workload`, driven by the calls and callbacks that a host has: the script says what its user does, and
/// how its callbacks answer. The apps of the tests also observe what happens.
class ScriptedApp: AppObserver {
  let app: App
  let process: FleetProcess
  let identity: AppIdentity
  let savePolicy: SavePolicy
  private let environment: ScriptedEnvironment
  private let delegate = ScriptedDelegate()
  private let activityDelegate = ScriptedActivityDelegate()

  var activities = ScriptedActivities()
  /// Its windows: ScriptedApp+Responders.swift.
  var responders = ScriptedResponders()
  /// Its documents: ScriptedApp+Documents.swift.
  var documents: [ScriptedDocument] = []
  var answers = ScriptedAnswers()
  /// Whether did_fail has a callback: without one, the hub learns of the failure (R3.13).
  let hearsFailures: Bool
  let answersDidUpdate: Bool
  /// Whether open_document has a callback.
  var opensDocuments: Bool { true }

  var unanswered = UnansweredCallbacks()
  /// The continuations that it has begun, or that were delivered to it. The user can cancel them.
  var continuations: [Continuation] = []
  var continuationCount: Int { continuations.count }
  /// Ends of streams.
  var streams: [ScriptedStream] = []
  /// The number of requests that were refused before they were sent.
  private var refusedRequests: UInt64 = 0

  var isReady = false
  /// The results that the last callbacks must have led to: ScriptedApp+Checks.swift.
  var expectations = ScriptedExpectations()
  /// The current activity, if it is to be saved by itself, and the uptime since which it is.
  var unsaved: (activity: KnownActivity, since: Int64)?

  /// An app that was opened.
  struct Opened {
    let app: App
    let environment: ScriptedEnvironment
    let process: FleetProcess
    let identity: AppIdentity
    let savePolicy: SavePolicy
  }

  /// Throws INVALID_STATE if the device is down.
  static func open(
    _ identity: AppIdentity, on device: FleetDevice, offersFrontmostOnly: Bool = false, acceptsWaiting: Bool = true
  ) throws(SegueError) -> Opened {
    // Derived from its name, so that the randomness of a workload is not affected.
    let savePolicy: SavePolicy = identity.id.bytes[0] & 1 == 0 ? .whenPulled : .whenNeeded
    var settings = try AppSettings(bundleIdentifier: identity.bundleIdentifier)
    try settings.setName(identity.name)
    try settings.setTeam(identity.team)
    for type in identity.types { try settings.addType(type) }
    settings.isChooser = identity.isChooser
    settings.offersFrontmostOnly = offersFrontmostOnly
    settings.savePolicy = savePolicy
    if let type = identity.types.first {
      try settings.addDocumentType(ScriptedDocument.kind, activityType: type)
    }
    let environment = ScriptedEnvironment(on: device)
    let app = App(settings, in: environment, hasSystemClock: false)
    try app.add(try Container(identifier: "docs", folder: "/docs", realFolder: nil))
    app.setAcceptsWaiting(acceptsWaiting)
    environment.nextIdentifier = identity.secret
    try app.open()
    guard let process = environment.process else { throw SegueError(.invalidState, "app: is not open") }
    return Opened(app: app, environment: environment, process: process, identity: identity, savePolicy: savePolicy)
  }

  /// Throws INVALID_STATE if the device is down.
  convenience init(
    _ identity: AppIdentity, on device: FleetDevice, offersFrontmostOnly: Bool = false
  ) throws(SegueError) {
    self.init(try Self.open(identity, on: device, offersFrontmostOnly: offersFrontmostOnly))
  }

  init(_ opened: Opened) {
    app = opened.app
    environment = opened.environment
    process = opened.process
    identity = opened.identity
    savePolicy = opened.savePolicy
    hearsFailures = identity.id.bytes[1] & 3 != 0
    answersDidUpdate = identity.id.bytes[1] & 4 != 0
    environment.script = self
    app.observer = self
    delegate.script = self
    activityDelegate.script = self
    app.setDelegate(delegate)
    app.setActivityDelegate(activityDelegate)
  }

  /// Nil once the app is closed, or dead.
  var engine: AppEngine? { app.engine }
  var isAlive: Bool { engine != nil }
  /// Whether it is neither gone nor stopped.
  var isAwake: Bool { isAlive && !process.isStalled }
  var offers: [Offer] { engine?.offers.all ?? [] }
  var activityCount: Int { activities.own.count }
  var current: Activity? { engine?.currentActivity.flatMap { activity($0) } }
  /// The continuations that it has not answered.
  var pendingAnswers: [Identifier] { unanswered.continuations.map { $0.id } }

  /// Called with all that a checker of the history has to know: does nothing in the product.
  func observe(_ event: HistoryEvent) {}
  /// Called after each call of the engine.
  func engineCalled() {}
  /// Called when a socket of its process can be read or written, or has ended.
  func attend(to socket: FleetSocket) { moveStream(on: socket) }
  /// Whether it claims to have callbacks when it has none.
  var hasMoreCallbacks: Bool { false }

  /// Calls the engine behind the app's back, as no host can.
  func perform(_ call: (AppEngine, Instant) -> Void) { if isAlive { process.perform(call) } }

  // MARK: Actions

  func becomeCurrent(_ id: Identifier, _ activity: Activity) {
    observe(.activity(id, activity))
    if activities.isFull { invalidate(0) }
    environment.nextIdentifier = id
    guard let live = try? LiveActivity(activity, app: app) else { return }
    activities.add(KnownActivity(live))
    becomeCurrent(activities.own.count - 1)
  }

  func becomeCurrent(_ index: Int) {
    let known = activities.own[index]
    process.does("becomes current", known.activity.title)
    try? known.live.becomeCurrent()
  }

  func resignCurrent(_ index: Int) {
    let known = activities.own[index]
    process.does("resigns current")
    saving(known.id) { try? known.live.resignCurrent() }
  }

  func invalidate(_ index: Int) {
    let known = activities.own[index]
    process.does("invalidates")
    drop(known.id)
    known.live.invalidate()
  }

  /// An activity is invalidated: its own, or one that it keeps.
  func drop(_ id: Identifier) {
    responders.forget(id)
    if activities.remove(id) { observe(.activity(id, nil)) }
  }

  func setForeground(_ isForeground: Bool) {
    process.does(isForeground ? "comes to the foreground" : "goes to the background")
    if isForeground {
      try? app.setForeground(true)
    } else {
      saving(engine?.currentActivity) { try? app.setForeground(false) }
    }
  }

  /// The next call saves the activity, if it is current and dirty (R2.2), and not one that is being restored (R4.2).
  private func saving(_ id: Identifier?, _ call: () -> Void) {
    let former = id == engine?.currentActivity ? id.flatMap { known($0) } : nil
    let isDue = former.map { isAnswered($0) && $0.live.needsSave } ?? false
    call()
    guard let former, isDue, former.live.needsSave, former.save == nil else { return }
    guard !unanswered.hasSave(of: former.id) else { return }
    process.complain("R2.2: it is no longer current or in the foreground, and was not saved")
  }

  func `continue`(_ offer: Offer, _ id: Identifier, timeout: Int64? = nil) {
    observe(.continues(id, offer))
    environment.nextIdentifier = id
    if let begun = try? app.continue(offer, timeout: timeout) { continuations.append(begun) }
  }

  /// The user cancels a continuation.
  func cancel(at index: Int) { cancel(continuations[index].id) }

  func cancel(_ id: Identifier) {
    process.does("cancels")
    continuations.first { $0.id == id }?.cancel()
  }

  /// Sends a request to the origin; sometimes with more than a window of bytes.
  func request(_ from: ContinuedFrom) {
    request([UInt8](repeating: 7, count: process.now.uptime % 8 == 0 ? 70_000 : 100), from)
  }

  /// - Returns: the number of the answer, which is also its content.
  @discardableResult func request(_ bytes: [UInt8], _ from: ContinuedFrom, timeout: Int64? = nil) -> UInt64 {
    guard let activity = continued(from) else { return 0 }
    let request = ScriptedRequest(activity, of: self)
    do throws(SegueError) {
      try app.ask(request, bytes, from, timeout: timeout)
      observe(.requests(request.number, bytes))
      return request.number
    } catch {
      request.forget()
      // The call has failed: it counts as a request that ends at once.
      refusedRequests += 1
      let number = UInt64.max - refusedRequests
      observe(.requests(number, bytes))
      observe(.answered(number, [], error.status))
      return number
    }
  }

  /// An activity by which the app can ask the origin of a continuation.
  func continued(_ from: ContinuedFrom) -> LiveActivity? {
    (activities.kept(from) ?? activities.kept.last)?.live
  }

  /// Sometimes asks the origin for a stream.
  func askStream(_ from: ContinuedFrom) {
    guard from.offer.description.supportsContinuationStreams, process.now.uptime % 3 == 0 else { return }
    askStream(process.fleet.drawIdentifier(), from)
  }

  /// Asks for a link with another device; nil for an unusable connection.
  /// - Returns: its number.
  @discardableResult func ask(_ link: DeviceLink?) -> UInt64 {
    process.does("asks for a link")
    let made = ScriptedLink()
    try? app.link(made) { () throws(SegueError) in FleetDescriptor(link.map { .link($0) } ?? .nothing) }
    return made.number
  }

  func explain(_ index: Int) { try? app.explain(activities.own[index].live, ScriptedQuestion()) }

  /// Draws the next identifier that the app takes from its script.
  func draw(_ id: Identifier) { environment.nextIdentifier = id }

  // MARK: Its end

  /// Closes the app as its host does.
  @inline(never)
  func close() {
    guard isAlive else { return }
    saving(engine?.currentActivity) { try? app.close() }
    callbacksHaveRun()
    end()
  }

  /// Its process is dead.
  func died() { end() }

  private func end() {
    delegate.script = nil
    activityDelegate.script = nil
    unanswered = UnansweredCallbacks()
    continuations = []
    streams = []
    documents = []
    responders = ScriptedResponders()
  }

  // MARK: Its activities

  func known(_ id: Identifier) -> KnownActivity? { activities[id] }

  /// Nil if it was invalidated.
  func activity(_ id: Identifier) -> Activity? { known(id)?.activity }

  /// The identifier of an activity of its own.
  func identifier(of index: Int) -> Identifier { activities.own[index].id }

  // MARK: AppObserver

  func began(_ operation: AppOperation, deadline: Int64?) { process.began(operation, deadline: deadline) }

  func queued(_ delivery: Delivery) {
    process.queued(delivery)
    if case .willSave(let id, let number) = delivery, let known = known(id) { began(number, of: known) }
  }

  func willRun(_ delivery: Delivery) {
    callbacksHaveRun()
    process.willRun(delivery)
    expect(delivery)
    switch delivery {
    case .streamAnswered(let id, let error): if stream(id)?.isAttachment ?? false { start(id, error) }
    default: break
    }
  }

  func willRun(_ step: ContinuationStep, of id: Identifier) {
    callbacksHaveRun()
    expect(step, of: id)
    process.willRun(step, of: id)
    observe(.step(step, of: id))
  }

  func answered(_ continuation: Identifier) { process.answered(continuation) }

  func replaced(_ id: Identifier, with state: Activity) {
    guard let known = known(id) else { return }
    checkReplaced(known)
    checkDocument(of: id, in: state)
    known.draft = nil
    known.note(state)
    observe(.replaced(id, state))
  }
}
