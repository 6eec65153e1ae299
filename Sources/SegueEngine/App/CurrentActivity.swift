import SegueModel
import SegueWire

/// The activity that an app offers: saves it in time, and tells the hub of it.
final class CurrentActivity: AppFeature {
  private struct Offered {
    let id: Identifier
    /// Uptime in milliseconds.
    var activatedAt: Int64
    /// Rises with each activation of the app.
    var activation: UInt64
    /// What the hub knows; nil: nothing.
    var lastPut: OfferDescription?
    var lastPutAt: Int64 = 0
    var lastActivation: UInt64 = 0
    /// When a change is told that came too soon after the last one (R2.8).
    var updateAt: Int64?
    /// When it is saved although nobody asks (R2.2), and since when it has been dirty.
    var saveAt: Int64?
    var dirtySince: Int64?
    /// When it expires.
    var expiresAt: Int64?
  }

  /// Bytes that may wait for the hub before changes of the offer are held back.
  private static let putBacklog = 32 * 1024

  private let app: AppContext
  private let hub: HubConnection
  private let incoming: IncomingContinuations
  private let saves: Saves
  private var current: Offered?
  /// How often an activity was made current, or the app came to the foreground.
  private var activations: UInt64 = 0

  init(_ app: AppContext, _ hub: HubConnection, _ incoming: IncomingContinuations, _ saves: Saves) {
    self.app = app
    self.hub = hub
    self.incoming = incoming
    self.saves = saves
  }

  var id: Identifier? { current?.id }

  /// Its state, for each call of the engine but once.
  private var state: Activity? { current.flatMap { app.owner.activity($0.id) } }

  // MARK: For the app

  /// In place of the one that was (R1.11, R1.12). Nothing happens if it was invalidated.
  func become(_ id: Identifier, _ now: Moment) {
    guard let state = app.owner.activity(id) else { return }
    if let former = current, former.id != id { resign(former, .due, now) }
    activations += 1
    if current?.id == id {
      current?.activatedAt = now.uptime
      current?.activation = activations
    } else {
      current = Offered(id: id, activatedAt: now.uptime, activation: activations)
    }
    scheduleSave(state, now)
    put(state, now)
  }

  func resign(_ id: Identifier, _ reason: SaveReason, _ now: Moment) {
    guard let former = current, former.id == id else { return }
    current = nil
    resign(former, reason, now)
  }

  private func resign(_ former: Offered, _ reason: SaveReason, _ now: Moment) {
    save(former.id, reason, now)
    withdraw(former)
  }

  /// Withdraws it without saving it.
  func invalidate(_ id: Identifier) {
    guard let former = current, former.id == id else { return }
    current = nil
    withdraw(former)
  }

  func changed(_ id: Identifier, _ now: Moment) {
    guard current?.id == id else { return }
    update(now)
  }

  func setForeground(_ isForeground: Bool, _ now: Moment) {
    guard let id else { return }
    if isForeground { become(id, now) } else { save(id, .leaving, now) }
  }

  // MARK: Saving

  /// Saves an activity, current or not.
  func save(_ id: Identifier, _ reason: SaveReason, _ now: Moment) {
    guard saves.save(id, reason, now), current?.id == id else { return }
    current?.saveAt = nil
    current?.dirtySince = nil
  }

  /// The app has answered a will_save.
  func saved(_ number: UInt64, _ now: Moment) {
    guard let id = saves.activity(of: number) else {
      // Too late: no snapshot was taken. Now that it answers again, it is asked again.
      return scheduleSave(state, now)
    }
    let saved = app.owner.activity(id)
    // It may have changed while it was saved.
    if current?.id == id { scheduleSave(saved, now) }
    let late = saves.finish(number, saved)
    if current?.id == id { put(saved, now) }
    for continuation in late { save(id, .pulled(continuation), now) }
  }

  /// What was restored may be saved from now on (R4.2).
  func noteAnswers(_ now: Moment) {
    for continuation in incoming.takeFinished() {
      guard let id, app.owner.continuation(of: id) == continuation else { continue }
      scheduleSave(state, now)
    }
  }

  /// Sees to it that a dirty current activity is saved in time (R2.2).
  private func scheduleSave(_ state: Activity?, _ now: Moment) {
    guard let offered = current, app.limits.saveDelay > 0, let state else { return }
    guard state.needsSave, !saves.isBeingRestored(offered.id) else {
      current?.saveAt = nil
      current?.dirtySince = nil
      return
    }
    let dirtySince = offered.dirtySince ?? now.uptime
    let latest = max(app.limits.saveLatest, app.limits.saveDelay)
    let lastChange = max(app.owner.lastChange(of: offered.id), dirtySince)
    current?.dirtySince = dirtySince
    current?.saveAt = min(lastChange + app.limits.saveDelay, dirtySince + latest)
  }

  // MARK: Telling the hub

  private func update(_ now: Moment) {
    let state = state
    scheduleSave(state, now)
    put(state, now)
  }

  private func withdraw(_ former: Offered) {
    guard former.lastPut != nil else { return }
    hub.send(.withdraw(former.id))
  }

  /// Tells the hub of the current activity as it is now, unless it knows, or has just been told.
  private func put(_ state: Activity?, _ now: Moment) {
    guard var offered = current else { return }
    defer { current = offered }
    guard hub.isWelcome, let state else {
      // The next hub is told of all at once: until then nothing is due.
      offered.updateAt = nil
      offered.expiresAt = nil
      return
    }
    offered.expiresAt = state.expirationDate.map { now.uptime(of: $0) }
    guard state.isOfferable(at: now.date) else {
      offered.expiresAt = nil
      offered.updateAt = nil
      withdraw(offered)
      offered.lastPut = nil
      return
    }
    let description = OfferDescription(state, id: offered.id)
    let isActivation = offered.lastPut == nil || offered.lastActivation != offered.activation
    if !isActivation {
      guard offered.lastPut != description else {
        offered.updateAt = nil
        return
      }
      let mayAt = offered.lastPutAt + Limits.offerUpdate
      guard mayAt <= now.uptime else {
        offered.updateAt = mayAt
        return
      }
    }
    // A hub that does not keep up hears the last state only: it has to answer in time, too.
    guard hub.link.map({ $0.pendingBytes < Self.putBacklog }) ?? true else {
      offered.updateAt = now.uptime + Limits.offerUpdate
      return
    }
    offered.updateAt = nil
    offered.lastPut = description
    offered.lastPutAt = now.uptime
    offered.lastActivation = offered.activation
    let timing = OfferTiming(
      activatedAt: offered.activatedAt, expirationDate: description.expirationDate, now: now)
    hub.sendChecked(.put(description, timing, activation: offered.activation), now)
  }

  // MARK: Its life

  func connected(_ now: Moment) { put(state, now) }

  func disconnected(_ now: Moment) { current?.lastPut = nil }

  func tick(_ now: Moment) {
    noteAnswers(now)
    guard let offered = current else { return }
    if let at = offered.saveAt, at <= now.uptime {
      // It may have changed since the date was set: `needs_save` is set without telling us each time (R2.3).
      scheduleSave(state, now)
      if let at = current?.saveAt, at <= now.uptime {
        current?.saveAt = nil
        save(offered.id, .due, now)
      }
    }
    let isDue = [offered.updateAt, offered.expiresAt].contains { at in at.map { $0 <= now.uptime } ?? false }
    if isDue { put(state, now) }
  }

  var nextDeadline: Int64? {
    guard let current else { return nil }
    return earlier(earlier(current.updateAt, current.saveAt), current.expiresAt)
  }

  var isIdle: Bool { current == nil }
}

extension OfferDescription {
  init(_ activity: Activity, id: Identifier) {
    self.init(
      id: id, type: activity.type, title: activity.title, payloadVersion: activity.payloadVersion,
      // What varies in size; the rest of a document is small.
      sizeHint: UInt64(activity.userInfo?.encoding.count ?? 0),
      expirationDate: activity.expirationDate,
      supportsContinuationStreams: activity.supportsContinuationStreams)
  }
}
