// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The rules of Handoff for one app: what it offers, sees and continues. No I/O, no clock, no randomness: inputs are
/// calls, bytes and ticks; outputs are bytes (`link`), deliveries and deadlines. Each feature is an object of its own;
/// the engine passes calls and messages on to them.
///
/// Use it on one thread at a time. Its owner calls `tick` at `nextDeadline`.
public final class AppEngine {
  /// Milliseconds until the status of an ended stream is known (R7.3).
  public static let verdictTime: Int64 = 1_000

  public private(set) var isClosed = false
  private var isClosing = false
  private let app: AppContext
  private let hub: HubConnection
  private let seen: SeenOffers
  private let outcomes: PendingOutcomes
  private let incoming: IncomingContinuations
  let responders: Responders
  private let saves: Saves
  private let current: CurrentActivity
  private let kept: KeptSnapshot
  private let grants = ActivityGrants()
  private let outgoing: OutgoingContinuations
  private let originChanges: OriginChanges
  let appLinks: AppLinks
  let streams: AppStreams
  let requests: AppRequests
  let explanations: Explanations
  private let searchUpdates: SearchUpdates
  private let unheard: UnheardFailures
  /// All features. Invariant: each calls only those before it.
  private let features: [any AppFeature]
  private let messages: AppMessages

  public init(
    identity: AppIdentity, limits: Limits, savePolicy: SavePolicy = .whenPulled, owner: any AppEngineOwner
  ) {
    app = AppContext(identity, limits, owner)
    hub = HubConnection(app)
    seen = SeenOffers(app)
    outcomes = PendingOutcomes(hub)
    incoming = IncomingContinuations(app, hub, seen, outcomes)
    responders = Responders(app)
    saves = Saves(app, savePolicy, incoming, responders)
    current = CurrentActivity(app, hub, incoming, responders, saves)
    kept = KeptSnapshot(app, hub, saves)
    outgoing = OutgoingContinuations(app, hub, current, saves, grants)
    originChanges = OriginChanges(app, incoming, current, saves, grants)
    appLinks = AppLinks(app, hub)
    streams = AppStreams(app, hub, seen, grants)
    requests = AppRequests(app, hub, seen, grants)
    explanations = Explanations(app, hub, current)
    searchUpdates = SearchUpdates(app, hub, saves, requests)
    unheard = UnheardFailures(hub)
    features = [
      seen, outcomes, incoming, responders, saves, current, kept, outgoing, appLinks, streams, requests, explanations,
      searchUpdates, unheard,
    ]
    messages = AppMessages(
      hub, seen, outcomes, incoming, kept, grants, outgoing, appLinks, streams, requests, explanations)
  }

  /// The identity of the app, with the additions of its manifest (R6.1).
  public var identity: AppIdentity { app.identity }
  /// Whether an agent has said what the manifest of the app is, and the app has been ready since.
  public var knowsManifest: Bool { app.knowsManifest }
  public var limits: Limits { app.limits }

  // MARK: Time

  /// The uptime in milliseconds at which `tick` is due, or nil.
  public var nextDeadline: Int64? {
    // After each call: without a loop over existentials, which would retain each.
    var next = earlier(hub.nextDeadline, seen.nextDeadline)
    next = earlier(next, outcomes.nextDeadline)
    next = earlier(next, incoming.nextDeadline)
    next = earlier(next, saves.nextDeadline)
    next = earlier(next, current.nextDeadline)
    next = earlier(next, outgoing.nextDeadline)
    next = earlier(next, streams.nextDeadline)
    next = earlier(next, requests.nextDeadline)
    return earlier(next, searchUpdates.nextDeadline)
  }

  /// Does what is due.
  public func tick(_ now: Instant) {
    hub.tick(now)
    if hub.becomeReadyIfDue(now) { seen.becomeReady(now) }
    messages.askingOrigins(now) { for feature in features { feature.tick(now) } }
    originChanges.advance(now)
  }

  // MARK: The current activity

  /// The activity that is offered.
  public var currentActivity: Identifier? { current.id }

  /// Offers an activity in place of the current one (R1.11, R1.12). No effect if it was invalidated.
  public func becomeCurrent(_ id: Identifier, _ now: Instant) {
    guard !isClosed else { return }
    current.choose(id, now)
    noteCurrent(now)
  }

  /// Another activity may be current.
  private func noteCurrent(_ now: Instant) {
    kept.noteCurrent(current.id)
    if let id = current.id { searchUpdates.noteState(of: id, now) }
    searchUpdates.advance(now)
  }

  /// Saves the activity, and stops offering it.
  public func resignCurrent(_ id: Identifier, _ now: Instant) {
    current.drop(id, .due, now)
    kept.forget(id)
    searchUpdates.advance(now)
  }

  /// The host has released an activity, which is invalidated next (R1.15): one that asks for it is left as it is
  /// (R2.5).
  public func leave(_ id: Identifier, _ now: Instant) {
    guard current.id == id else { return }
    saves.takeSnapshot(of: id)
    kept.leave(id, now)
  }

  /// Withdraws the activity for ever (R1.11).
  /// - Parameter isReleased: the host has not asked for it: what was left stays left (R2.5).
  public func invalidate(_ id: Identifier, isReleased: Bool = false, _ now: Instant) {
    responders.remove(activity: id)
    current.invalidate(id)
    if !isReleased { kept.forget(id) }
    incoming.abandon(id, now)
    grants.remove(activity: id)
    saves.remove(activity: id)
    searchUpdates.remove(activity: id)
    outgoing.abandon(activity: id, now)
    requests.abandon(activity: id)
    follow(now)
    searchUpdates.advance(now)
  }

  /// Whether another app continues an activity of this one, even one that was invalidated meanwhile: its end is still
  /// to be delivered (R3.6).
  public func isAttempted(_ id: Identifier) -> Bool { outgoing.isAttempted(id) }

  /// The activity has changed: its properties, or whether it needs saving. Of one that is not current, only that it
  /// is private counts, and what was saved of it for search.
  public func changed(_ id: Identifier, _ now: Instant) {
    current.changed(id, now)
    kept.changed(id)
    searchUpdates.noteState(of: id, now)
  }

  /// Makes the activity of the chain of responders current (R4.3), unless the app closes.
  func follow(_ now: Instant) {
    guard !isClosing, !isClosed else { return }
    current.follow(now)
    noteCurrent(now)
  }

  /// Sets the label that offers of the app carry (R13.6); nil: none.
  public func setLabel(_ label: String?, _ now: Instant) {
    app.label = label
    current.relabel(now)
  }

  public func setForeground(_ isForeground: Bool, _ now: Instant) {
    guard !isClosed else { return }
    current.setForeground(isForeground, now)
    if !isForeground { kept.leave(current.id, now) }
    searchUpdates.advance(now)
  }

  /// The host is asked from now on: it may miss changes for receivers that ask later.
  /// - Returns: whom to ask; nil if the save was given up.
  @discardableResult
  public func saveBegan(_ number: UInt64) -> SavePlan? { saves.began(number) }

  /// Whether a save still waits for its answer.
  public func isSaving(_ number: UInt64) -> Bool { saves.activity(of: number) != nil }

  /// Whether a save still waits for the state of a responder.
  public func isSaving(_ number: UInt64, responder: Responder) -> Bool {
    saves.activity(of: number).map { responders.updates($0, responder) } ?? false
  }

  /// The app has answered a save.
  public func saved(_ number: UInt64, _ now: Instant) {
    current.saved(number, now)
    kept.sendWhenSaved()
    outgoing.sendPulled(now)
    originChanges.advance(now)
    searchUpdates.advance(now)
  }

  /// The app has reported that a save failed (R2.4).
  /// - Parameter reason: for the receivers that wait.
  public func saveFailed(_ number: UInt64, because reason: String? = nil, _ now: Instant) {
    saves.failed(number, reason)
    current.saveFailed(now)
    kept.sendWhenSaved()
    outgoing.sendPulled(now)
    originChanges.advance(now)
  }

  // MARK: Offers and continuations

  /// The offers that the app sees.
  public var offers: OfferList { seen.list }

  /// Continues an offer (R3.1). will_continue is delivered, then exactly one of continue and did_fail (R3.2). The
  /// app's former continuation is cancelled, unless that was answered (R3.3).
  /// - Parameter timeout: milliseconds for the whole continuation; nil for the limit.
  public func `continue`(_ offer: Offer, id: Identifier, timeout: Int64?, _ now: Instant) {
    incoming.begin(offer, id: id, timeout: timeout, now)
  }

  /// The host takes continuations that wait for it at the agent, or no more (R3.8).
  public func setAcceptsDeliveries(_ accepts: Bool) { incoming.setAcceptsDeliveries(accepts) }

  /// The offer of a continuation that the agent delivers: the engine begins it. Nil for others.
  public func deliveredOffer(of id: Identifier) -> Offer? { incoming.deliveredOffer(of: id) }

  /// Takes back the state of an activity of this app from the app that last continued it (R3.10): `willResumeBack` is
  /// delivered, then `resumedBack` or `didFail`.
  /// - Parameter id: new.
  /// - Parameter timeout: milliseconds for all of it; nil for the limit.
  /// - Returns: why it does not begin, or nil.
  public func resumeBack(_ activity: Identifier, id: Identifier, timeout: Int64?, _ now: Instant) -> SegueError? {
    guard let type = app.owner.activity(activity)?.type else {
      return SegueError(.invalidated, "activity: was invalidated, which is for ever")
    }
    guard let keeper = outgoing.keeper(of: activity) else {
      return SegueError(.notFound, "activity: no app has continued it, so its state is here")
    }
    guard !incoming.isResumingBack(activity) else {
      return SegueError(.invalidState, "activity: its state is coming back already")
    }
    incoming.resumeBack(activity, type: type, from: keeper, id: id, timeout: timeout, now)
    return nil
  }

  /// will_resume_back was answered, or is not; no effect when it is too late.
  public func answerResumption(_ id: Identifier, _ answer: Bool?, _ now: Instant) {
    incoming.answerResumption(id, answer, now)
  }

  /// The callback that is due in a continuation, or nil.
  public func step(_ id: Identifier, _ now: Instant) -> ContinuationStep? {
    originChanges.replace(by: id, now)
    defer { current.noteAnswers(now) }
    return incoming.step(id)
  }

  /// will_continue has returned; with a reason, the app declines (R3.7).
  public func announced(_ id: Identifier, decline reason: String?, _ now: Instant) {
    incoming.announced(id, decline: reason, now)
  }

  /// The app has answered continue: handled or not, and every restorable object restored or not (R3.4, R3.6). Or it was
  /// told that its activity was replaced.
  /// - Parameter failure: why it broke, if it did.
  public func answer(
    _ id: Identifier, handled: Bool, restored: Bool, failure: SegueError? = nil, _ now: Instant
  ) {
    let failure = failure ?? (restored ? nil : SegueError(.handoffFailed, "an object was not restored"))
    let replaced = incoming.answer(id, handled: handled, failure, now)
    current.noteAnswers(now)
    if let replaced {
      current.replaced(replaced, now)
      searchUpdates.noteState(of: replaced, now)
    }
  }

  /// The app opens the document of what it has continued, instead of an answer (R3.5). By the deadline, `answer` is
  /// called, or `failOpening`; otherwise it has failed.
  /// - Returns: false if it is too late.
  public func beginOpening(_ id: Identifier) -> Bool { incoming.beginOpening(id) }

  /// Whether the answer to continue is awaited, a document, or the restoration of objects.
  public func isAwaited(_ id: Identifier) -> Bool { incoming.isAwaited(id) }

  /// The app has handled it, or has opened its document, and restores objects before `answer`: no cancel ends the
  /// continuation from now on.
  /// - Returns: false if it is too late.
  public func beginRestoring(_ id: Identifier) -> Bool { incoming.beginRestoring(id) }

  /// The document cannot be opened: `openingFailed` is delivered. No effect unless one is awaited.
  public func failOpening(_ id: Identifier, _ error: SegueError, _ now: Instant) {
    incoming.failOpening(id, error, now)
  }

  /// A continuation has failed, and no function of the host was told (R3.13).
  public func reportUnheard(_ type: String, _ error: SegueError, _ now: Instant) { unheard.add(type, error, now) }

  /// Ends a continuation that is not answered yet, by did_fail, or after continue by `openingFailed`. No effect
  /// afterwards.
  public func cancel(_ id: Identifier, _ error: SegueError, _ now: Instant) { incoming.cancel(id, error, now) }

  /// The received and total bytes of the payload (total is 0 until known); nil after the end.
  public func progress(of id: Identifier) -> (received: Int, total: Int)? { incoming.progress(of: id) }

  // MARK: Saved activities

  /// Deletes saved activities of this app (R8.2). The answer is `answered` with the returned number.
  /// - Parameter names: a set of persistent identifiers; nil: all.
  public func deleteSaved(_ names: Value?, _ now: Instant) -> UInt64 {
    searchUpdates.delete(names, now)
  }

  // MARK: The end

  /// Saves and withdraws the current activity. Its will_save runs before `finishClosing`.
  public func startClosing(_ now: Instant) {
    isClosing = true
    guard let id = current.id else { return }
    current.drop(id, .leaving, now)
    kept.leave(id, now)
  }

  /// Ends everything in progress with CANCELLED (R3.14). The bytes in `link` go out before the connection closes.
  public func finishClosing(_ now: Instant) {
    guard !isClosed else { return }
    let closed = SegueError(.cancelled, "the app was closed")
    searchUpdates.flush(now)
    for feature in features { feature.close(closed, now) }
    isClosed = true
  }

  /// Whether a snapshot is still on its way to the agent: the connection stays open for it, for a while (R2.5).
  public var isLeaving: Bool { kept.isSending }

  /// State that should have been released by now, or nil (leak check).
  public var leak: StaticString? {
    for feature in features { if let leak = feature.leak { return leak } }
    return hub.link?.hasChannels ?? false ? "app: a channel stays open" : nil
  }

  /// The first violated invariant, or nil. Asked after each simulated step (R11.1).
  public var brokenInvariant: StaticString? {
    if nextDeadline != features.reduce(hub.nextDeadline, { earlier($0, $1.nextDeadline) }) {
      return "app: a feature has a deadline that the engine does not know"
    }
    for feature in features {
      if let broken = feature.brokenInvariant { return broken }
      if isClosed, !feature.isIdle { return "R3.14: it is closed, and something has not ended" }
    }
    return nil
  }

  /// The bytes of documents and requests that the engine holds.
  var heldBytes: Int { outgoing.heldBytes + requests.heldBytes + searchUpdates.heldBytes }

  // MARK: The hub

  /// The connection to the hub; nil while there is none.
  public var link: FramedConnection? { hub.link }

  public var isReady: Bool { hub.isReady }
  /// The uptime at which it is ready, if it waits for the other apps of a hub that has just taken over.
  public var readyAt: Int64? { hub.readyAt }
  public var hubGeneration: UInt64? { hub.isWelcome ? hub.generation : nil }
  /// The agent that carries the hub; nil if an app does, or there is no hub.
  public var hubAgent: AgentDescription? { hub.isWelcome ? hub.agent : nil }

  public func takeFault() -> HubFault? { hub.takeFault() }

  /// Waits again for a hub that does not answer, but shows a heartbeat.
  public func waitForHub(_ now: Instant) { hub.waitLonger(now) }

  /// The connection to the hub is open: `link` has a hello for it.
  public func connected(_ now: Instant) { hub.open(now) }

  /// The connection is lost, or was closed.
  public func disconnected(_ now: Instant) {
    guard hub.link != nil else { return }
    let wasReady = hub.isReady
    hub.reset()
    if wasReady, !isClosed { app.deliver(.connection(isReady: false)) }
    for feature in features { feature.disconnected(now) }
  }

  /// Takes in bytes from the hub.
  /// - Parameter descriptor: came with these bytes of one read.
  public func receive(_ bytes: consuming [UInt8], with descriptor: PassedDescriptor? = nil, _ now: Instant) {
    hub.receive(bytes, with: descriptor, now) { (event, link) throws(SegueError) in
      try messages.handle(event, of: link, now) { for feature in features { feature.connected(now) } }
    }
    originChanges.advance(now)
    searchUpdates.advance(now)
  }
}
