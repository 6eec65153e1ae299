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
  private var delegate: ScriptedDelegate?
  private var activityDelegate: ScriptedActivityDelegate?

  /// The most activities that it keeps; the oldest is dropped, as if it were invalidated.
  static let activityLimit = 4
  private(set) var activities: [KnownActivity] = []
  /// The activities that it has continued: ScriptedApp+Resumptions.swift.
  var kept: [KnownActivity] = []
  /// Its windows: ScriptedApp+Responders.swift.
  var responders = ScriptedResponders()
  /// Its documents: ScriptedApp+Documents.swift.
  var documents: [ScriptedDocument] = []

  // Its answers.
  var answersSaves = true
  /// Whether its saves fail.
  var failsSaves = false
  var answersContinue = true
  var declines = false
  var handles = true
  var restores = true
  /// Whether it invalidates continued activities.
  var moves = false
  /// The text that will_save writes into the activity; nil for none.
  var numberOnSave: Int?
  /// Its answer to will_resume_back; nil: it has no such callback.
  var replaces: Bool? = true
  /// Whether it reads from its streams.
  var readsStreams = true
  /// Whether it reads and writes at all: otherwise a test does.
  var movesStreams = true
  /// Whether did_fail has a callback: without one, the hub learns of the failure (R3.13).
  let hearsFailures: Bool
  let answersDidUpdate: Bool
  /// Whether open_document has a callback.
  var opensDocuments: Bool { true }

  /// The continuations that the user can cancel.
  var continuationCount: Int { continuations.count }
  /// The unanswered callbacks.
  var pendingSaves: [(activity: Identifier, save: PendingSave)] = []
  var pendingContinuations: [Continuation] = []
  var pendingRequests: [(request: Request, bytes: [UInt8])] = []
  /// The continuations that it has begun, or that were delivered to it.
  var continuations: [Continuation] = []
  /// Ends of streams.
  var streams: [ScriptedStream] = []
  /// The number of requests that were refused before they were sent.
  private var refusedRequests: UInt64 = 0

  var isReady = false
  /// The results that the last callbacks must have led to: ScriptedApp+Checks.swift.
  var expectations = ScriptedExpectations()

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
    let (delegate, activityDelegate) = (ScriptedDelegate(self), ScriptedActivityDelegate(self))
    (self.delegate, self.activityDelegate) = (delegate, activityDelegate)
    app.setDelegate(delegate)
    app.setActivityDelegate(activityDelegate)
  }

  /// Nil once the app is closed, or dead.
  var engine: AppEngine? { app.engine }
  var isAlive: Bool { engine != nil }
  /// Whether it is neither gone nor stopped.
  var isAwake: Bool { isAlive && !process.isStalled }
  var offers: [Offer] { engine?.offers.all ?? [] }
  var activityCount: Int { activities.count }
  var current: Activity? { engine?.currentActivity.flatMap { activity($0) } }
  /// The continuations that it has not answered.
  var pendingAnswers: [Identifier] { pendingContinuations.map { $0.id } }

  /// Called with all that a checker of the history has to know: does nothing in the product.
  func observe(_ event: HistoryEvent) {}
  /// Called after each call of the engine.
  func engineCalled() {}
  /// Called when a socket of its process can be read or written, or has ended.
  func attend(to socket: FleetSocket) { moveStream(on: socket) }
  /// The current activity, if it is to be saved by itself, and the uptime since which it is.
  var unsaved: (activity: KnownActivity, since: Int64)?
  /// Whether it claims to have callbacks when it has none.
  var hasMoreCallbacks: Bool { false }

  /// Calls the engine behind the app's back, as no host can.
  func perform(_ call: (AppEngine, Instant) -> Void) { if isAlive { process.perform(call) } }

  // MARK: Actions

  /// Creates an activity that holds a number, and bytes that identify it.
  static func activity(_ type: String, _ number: Int, size: Int) throws(SegueError) -> Activity {
    var activity = try Activity(type: type)
    try write(number, size: size, to: &activity)
    activity.setSupportsContinuationStreams(number % 4 != 0)
    return activity
  }

  /// - Parameter isAll: whether nothing else is in `user_info` afterwards.
  static func write(
    _ number: Int, size: Int? = nil, isAll: Bool = false, to activity: inout Activity
  ) throws(SegueError) {
    let size = size ?? activity.userInfo?["d"]?.data?.count ?? 0
    let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
    try activity.setTitle(Self.title(number))
    let entries = try Value.dictionary([
      (key: .string("d"), value: .data(bytes)), (key: .string("n"), value: .integer(Int64(number))),
    ])
    if isAll {
      try activity.setUserInfo(entries, limit: Limits.value)
    } else {
      try activity.addUserInfoEntries(entries, limit: Limits.value)
    }
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
    environment.nextIdentifier = id
    guard let live = try? LiveActivity(activity, app: app) else { return }
    activities.append(KnownActivity(live))
    becomeCurrent(activities.count - 1)
  }

  /// An activity that a document has got.
  func add(_ known: KnownActivity, _ number: Int) throws(SegueError) {
    activities.append(known)
    try change(known) { (activity) throws(SegueError) in try Self.write(number, size: number % 100, to: &activity) }
  }

  func becomeCurrent(_ index: Int) {
    let known = activities[index]
    process.does("becomes current", known.activity.title)
    try? known.live.becomeCurrent()
  }

  func resignCurrent(_ index: Int) {
    let known = activities[index]
    process.does("resigns current")
    saving(known.id) { try? known.live.resignCurrent() }
  }

  func invalidate(_ index: Int) {
    let known = activities[index]
    process.does("invalidates")
    drop(known.id)
    known.live.invalidate()
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
    known.changeCount += 1
    try known.live.update(change)
    if !known.isInSave { noteDirty(known) }
    let state = known.activity
    if Self.number(of: state) != former { known.draft = nil }
    known.note(state)
    observe(known, in: state)
    process.does("changes", state.title)
  }

  /// Its user writes, and the app does not report it, not even by `needs_save` (R2.9).
  func edit(_ index: Int, _ number: Int) throws(SegueError) { try edit(activities[index], number) }

  func edit(_ known: KnownActivity, _ number: Int) throws(SegueError) {
    known.draft = number
    process.does("edits", Self.title(number))
    // A save is not asked for while the app calls its activity saved (R2.9).
    guard case .whenPulled = savePolicy, !known.live.read({ $0.isDeclaredSaved }) else { return }
    var written = known.activity
    try Self.write(number, to: &written)
    observe(known, in: written)
  }

  private func observe(_ known: KnownActivity, in state: Activity) {
    if let from = known.from { observe(.kept(from, state)) } else { observe(.activity(known.id, state)) }
  }

  /// Declares its activity up to date (R2.9): what its user has written was reported.
  func declareSaved(_ index: Int) {
    let known = activities[index]
    known.hasChangedBeside = false
    if known.live.setNeedsSave(false) { known.live.tellApp() }
  }

  /// Changes without telling the engine (R2.3).
  func noteChange(_ index: Int) {
    let known = activities[index]
    noteDirty(known)
    if known.live.setNeedsSave(true) { known.live.tellApp() }
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
    guard !pendingSaves.contains(where: { $0.activity == former.id }) else { return }
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
    (kept.first { $0.from?.continuation == from.continuation } ?? kept.last)?.live
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

  func explain(_ index: Int) { try? app.explain(activities[index].live, ScriptedQuestion()) }

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
    delegate?.script = nil
    activityDelegate?.script = nil
    (delegate, activityDelegate) = (nil, nil)
    pendingSaves = []
    pendingContinuations = []
    pendingRequests = []
    continuations = []
    streams = []
    documents = []
    responders = ScriptedResponders()
  }

  // MARK: Its activities

  func known(_ id: Identifier) -> KnownActivity? {
    activities.first { $0.id == id } ?? kept.first { $0.id == id }
  }

  /// Nil if it was invalidated.
  func activity(_ id: Identifier) -> Activity? { known(id)?.activity }

  /// Those of its own, then those of what it keeps.
  var activityIdentifiers: [Identifier] { (activities + kept).map { $0.id } }

  /// The identifier of an activity of its own.
  func identifier(of index: Int) -> Identifier { activities[index].id }

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
