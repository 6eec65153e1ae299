import SegueModel
import SegueWire

/// The activity that an app offers: saves it in time, and publishes it to the hub.
final class CurrentActivity: AppFeature {
  private struct Offered {
    let id: Identifier
    /// Uptime in milliseconds.
    var activatedAt: Int64
    /// Rises with each activation of the app.
    var activation: UInt64
    /// The description that the hub has, or nil.
    var lastPut: OfferDescription?
    var lastPutAt: Int64 = 0
    var lastActivation: UInt64 = 0
    /// The uptime at which to publish a change that came too soon after the last one (R2.8).
    var updateAt: Int64?
    /// The uptime of the next save by time (R2.2), and since when the activity is dirty.
    var saveAt: Int64?
    var dirtySince: Int64?
    /// The uptime at which to look whether it has expired, or is offered again.
    var expiresAt: Int64?
    /// Its expiration date when it was offered last, and the uptime at which that was to come.
    var expected: (date: Double, uptime: Int64)?
    var pause = ExpiryPause()

    /// The uptime at which to look again at an activity that has expired. Nil if that came when it was to come.
    mutating func lookAgain(_ date: Double?, _ now: Instant) -> Int64? {
      guard let expected, expected.date == date, expected.uptime - now.uptime > ExpiryPause.least else { return nil }
      return pause.next(now)
    }
  }

  /// Pending bytes for the hub from which on changes of the offer are held back.
  private static let putBacklog = 32 * 1024

  private let app: AppContext
  private let hub: HubConnection
  private let incoming: IncomingContinuations
  private let responders: Responders
  private let saves: Saves
  private var current: Offered?
  /// Whether the host itself has decided since the chain was last looked at.
  private var isOverridden = false
  /// The number of activations: an activity was made current, or the app came to the foreground.
  private var activations: UInt64 = 0

  init(
    _ app: AppContext, _ hub: HubConnection, _ incoming: IncomingContinuations, _ responders: Responders, _ saves: Saves
  ) {
    self.app = app
    self.hub = hub
    self.incoming = incoming
    self.responders = responders
    self.saves = saves
  }

  var id: Identifier? { current?.id }

  /// Its state, read once per call of the engine.
  private var state: Activity? { current.flatMap { app.owner.activity($0.id) } }

  // MARK: For the app

  /// The host makes it current, whatever the chain says.
  func choose(_ id: Identifier, _ now: Instant) {
    isOverridden = true
    become(id, now)
  }

  /// The host resigns it, whatever the chain says.
  func drop(_ id: Identifier, _ reason: SaveReason, _ now: Instant) {
    isOverridden = true
    resign(id, reason, now)
  }

  /// Looks at the chain: the activity of the first responder that has one is current. If none has one, only a managed
  /// activity resigns (R4.3).
  func follow(_ now: Instant) {
    isOverridden = false
    if let first = responders.first {
      if first != id { become(first, now) }
    } else if let id, responders.manages(id) {
      resign(id, .due, now)
    }
  }

  /// Makes it current in place of the former one (R1.11, R1.12). No effect if it was invalidated.
  private func become(_ id: Identifier, _ now: Instant) {
    guard let state = app.owner.activity(id) else { return }
    if let former = current, former.id != id { resign(former, .due, now) }
    activations += 1
    if current?.id == id {
      current?.activatedAt = now.uptime
      current?.activation = activations
    } else {
      current = Offered(id: id, activatedAt: now.uptime, activation: activations)
    }
    if state.isSearchable {
      // What can be searched is saved when it becomes current (R8.1).
      save(id, .leaving, now)
      return update(now)
    }
    scheduleSave(state, now)
    put(state, now)
  }

  private func resign(_ id: Identifier, _ reason: SaveReason, _ now: Instant) {
    guard let former = current, former.id == id else { return }
    current = nil
    resign(former, reason, now)
  }

  private func resign(_ former: Offered, _ reason: SaveReason, _ now: Instant) {
    save(former.id, reason, now)
    withdraw(former)
  }

  /// Withdraws the activity without saving it.
  func invalidate(_ id: Identifier) {
    guard let former = current, former.id == id else { return }
    current = nil
    withdraw(former)
  }

  func changed(_ id: Identifier, _ now: Instant) {
    guard current?.id == id else { return }
    update(now)
  }

  /// An activity was replaced by a state that needs no saving: it is the next snapshot.
  func replaced(_ id: Identifier, _ now: Instant) {
    save(id, .replaced, now)
    changed(id, now)
  }

  func setForeground(_ isForeground: Bool, _ now: Instant) {
    let former = id
    if isForeground { follow(now) }
    guard let id, id == former else { return }
    if isForeground { become(id, now) } else { save(id, .leaving, now) }
  }

  // MARK: Saving

  /// Saves an activity, current or not.
  func save(_ id: Identifier, _ reason: SaveReason, _ now: Instant) {
    guard saves.save(id, reason, now), current?.id == id else { return }
    current?.saveAt = nil
    current?.dirtySince = nil
  }

  /// The app has answered a will_save.
  func saved(_ number: UInt64, _ now: Instant) {
    guard let id = saves.activity(of: number) else {
      // Too late: no snapshot was taken. The app answers again, so it is asked again.
      return scheduleSave(state, now)
    }
    let saved = app.owner.activity(id)
    // The activity may have changed during the save.
    if current?.id == id { scheduleSave(saved, now) }
    let late = saves.finish(number, saved)
    if current?.id == id { put(saved, now) }
    for continuation in late { save(id, .pulled(continuation), now) }
  }

  /// The app has reported that a save failed: what has changed during it is saved. Without such a change the app is
  /// asked no more, until the next one.
  func saveFailed(_ now: Instant) {
    if current?.saveAt != nil { scheduleSave(state, now) }
  }

  /// Restored activities may be saved from now on (R4.2).
  func noteAnswers(_ now: Instant) {
    for continuation in incoming.takeFinished() {
      guard let id, app.owner.continuation(of: id) == continuation else { continue }
      scheduleSave(state, now)
    }
  }

  /// Schedules the save of a dirty current activity (R2.2).
  private func scheduleSave(_ state: Activity?, _ now: Instant) {
    guard let id, app.limits.saveDelay > 0, let state else { return }
    guard state.needsSave, !saves.isBeingRestored(id) else {
      current?.saveAt = nil
      current?.dirtySince = nil
      return
    }
    let dirtySince = current?.dirtySince ?? now.uptime
    let latest = max(app.limits.saveLatest, app.limits.saveDelay)
    let lastChange = max(app.owner.lastChange(of: id), dirtySince)
    current?.dirtySince = dirtySince
    current?.saveAt = min(lastChange + app.limits.saveDelay, dirtySince + latest)
  }

  // MARK: Telling the hub

  private func update(_ now: Instant) {
    let state = state
    scheduleSave(state, now)
    put(state, now)
  }

  private func withdraw(_ former: Offered) { if former.lastPut != nil { hub.send(.withdraw(former.id)) } }

  /// Publishes the current activity to the hub, unless the hub knows it, or got an update just now.
  private func put(_ state: Activity?, _ now: Instant) {
    guard let id else { return }
    guard hub.isWelcome, let state else {
      // The next hub gets everything at once: until then nothing is due.
      current?.updateAt = nil
      current?.expiresAt = nil
      return
    }
    guard state.isOfferable(at: now.date) else {
      let looksAt = state.isExpired(at: now.date) ? current?.lookAgain(state.expirationDate, now) : nil
      current?.expiresAt = looksAt
      current?.updateAt = nil
      if let current { withdraw(current) }
      current?.lastPut = nil
      return
    }
    current?.expiresAt = state.expirationDate.map { now.uptime(of: $0) }
    current?.pause.end()
    current?.expected = state.expirationDate.flatMap { date in
      let timing = OfferTiming(activatedAt: now.uptime, expirationDate: date, now: now)
      return timing.remaining.map { (date, now.uptime + $0) }
    }
    let description = OfferDescription(state, id: id)
    if let lastPut = current?.lastPut, current?.lastActivation == current?.activation {
      guard lastPut != description else {
        current?.updateAt = nil
        return
      }
      let mayAt = (current?.lastPutAt ?? 0) + Limits.offerUpdate
      guard mayAt <= now.uptime else {
        current?.updateAt = mayAt
        return
      }
    }
    publish(description, now)
  }

  /// Sends it, unless the hub does not keep up.
  private func publish(_ description: OfferDescription, _ now: Instant) {
    // A hub that does not keep up gets only the last state; it also has to answer in time.
    guard hub.link.map({ $0.pendingBytes < Self.putBacklog }) ?? true else {
      current?.updateAt = now.uptime + Limits.offerUpdate
      return
    }
    guard var offered = current else { return }
    offered.updateAt = nil
    offered.lastPut = description
    offered.lastPutAt = now.uptime
    offered.lastActivation = offered.activation
    current = offered
    let timing = OfferTiming(
      activatedAt: offered.activatedAt, expirationDate: description.expirationDate, now: now)
    hub.sendChecked(.publish(description, timing, activation: offered.activation), now)
  }

  // MARK: Life cycle

  func connected(_ now: Instant) { put(state, now) }

  func disconnected(_ now: Instant) { current?.lastPut = nil }

  func tick(_ now: Instant) {
    noteAnswers(now)
    guard let offered = current else { return }
    if let at = offered.saveAt, at <= now.uptime {
      // The activity may have changed since the deadline was set: not each `needs_save` reaches the engine (R2.3).
      scheduleSave(state, now)
      if let at = current?.saveAt, at <= now.uptime {
        // While another save runs, this one waits for its end.
        current?.saveAt = saves.deadline(of: offered.id)
        save(offered.id, .due, now)
      }
    }
    let isDue = [offered.updateAt, offered.expiresAt].contains { at in at.map { $0 <= now.uptime } ?? false }
    if isDue { put(state, now) }
  }

  var nextDeadline: Int64? {
    earlier(earlier(current?.updateAt, current?.saveAt), current?.expiresAt)
  }

  var isIdle: Bool { current == nil }

  var brokenInvariant: StaticString? {
    guard !isOverridden else { return nil }
    guard let first = responders.first else {
      return id.map { responders.manages($0) } ?? false
        ? "R4.3: a managed activity is current, and not of the chain" : nil
    }
    return first == id ? nil : "R4.3: the current activity is not that of the chain"
  }
}

extension OfferDescription {
  init(_ activity: Activity, id: Identifier) {
    self.init(
      id: id, type: activity.type, title: activity.title, payloadVersion: activity.payloadVersion,
      // The parts that vary in size; the rest of a document is small.
      sizeHint: UInt64(activity.userInfo?.encoding.count ?? 0),
      expirationDate: activity.expirationDate,
      supportsContinuationStreams: activity.supportsContinuationStreams, isPrivate: activity.isPrivate)
  }
}
