import SegueModel
import SegueWire

/// The activity that an app offers, and what the hub was told of it.
struct CurrentActivity {
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

extension AppEngine {
  /// Bytes that may wait for the hub before changes of the offer are held back.
  private static let putBacklog = 32 * 1024

  /// Offers an activity in place of the one that was (R1.11, R1.12). Nothing happens if it was invalidated.
  public func becomeCurrent(_ id: Identifier, _ now: Moment) {
    guard !isClosed, source.activity(id) != nil else { return }
    if let former = current, former.id != id { resign(former, .due, now) }
    activations += 1
    if current?.id == id {
      current?.activatedAt = now.uptime
      current?.activation = activations
    } else {
      current = CurrentActivity(id: id, activatedAt: now.uptime, activation: activations)
    }
    scheduleSave(now)
    putCurrent(now)
  }

  /// Saves it, and offers it no longer.
  public func resignCurrent(_ id: Identifier, _ now: Moment) { resignCurrent(id, .due, now) }

  func resignCurrent(_ id: Identifier, _ reason: SaveReason, _ now: Moment) {
    guard let former = current, former.id == id else { return }
    current = nil
    resign(former, reason, now)
  }

  /// Withdraws it for good (R1.11).
  public func invalidate(_ id: Identifier, _ now: Moment) {
    if let former = current, former.id == id {
      current = nil
      withdraw(former)
    }
    snapshots[id] = nil
    holders.remove(activity: id)
    abandonOutgoing(of: id, now)
    abandonRequests(of: id)
  }

  /// Something of it changed: properties, or the mark that it needs saving.
  public func changed(_ id: Identifier, _ now: Moment) {
    guard current?.id == id else { return }
    scheduleSave(now)
    putCurrent(now)
  }

  public func setForeground(_ isForeground: Bool, _ now: Moment) {
    guard let id = current?.id else { return }
    if isForeground { becomeCurrent(id, now) } else { save(id, .leaving, now) }
  }

  private func resign(_ former: CurrentActivity, _ reason: SaveReason, _ now: Moment) {
    save(former.id, reason, now)
    withdraw(former)
  }

  private func withdraw(_ former: CurrentActivity) {
    guard former.lastPut != nil else { return }
    send(.withdraw(former.id))
  }

  /// Tells the hub of the current activity as it is now, unless it knows, or has just been told.
  func putCurrent(_ now: Moment) {
    guard var offered = current else { return }
    defer { current = offered }
    guard connection.isWelcome, let activity = source.activity(offered.id) else {
      // The next hub is told of all at once: until then nothing is due.
      offered.updateAt = nil
      offered.expiresAt = nil
      return
    }
    offered.expiresAt = activity.expirationDate.map { now.uptime(of: $0) }
    guard activity.isOfferable(at: now.date) else {
      offered.expiresAt = nil
      offered.updateAt = nil
      withdraw(offered)
      offered.lastPut = nil
      return
    }
    let description = OfferDescription(activity, id: offered.id)
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
    guard connection.link.map({ $0.pendingBytes < Self.putBacklog }) ?? true else {
      offered.updateAt = now.uptime + Limits.offerUpdate
      return
    }
    offered.updateAt = nil
    offered.lastPut = description
    offered.lastPutAt = now.uptime
    offered.lastActivation = offered.activation
    let timing = OfferTiming(
      activatedAt: offered.activatedAt, expirationDate: description.expirationDate, now: now)
    sendChecked(.put(description, timing, activation: offered.activation), now)
  }

  /// Sees to it that a dirty current activity is saved in time (R2.2).
  func scheduleSave(_ now: Moment) {
    guard let offered = current, limits.saveDelay > 0, let activity = source.activity(offered.id) else { return }
    guard activity.needsSave, !isBeingRestored(offered.id) else {
      current?.saveAt = nil
      current?.dirtySince = nil
      return
    }
    let dirtySince = offered.dirtySince ?? now.uptime
    let latest = max(limits.saveLatest, limits.saveDelay)
    current?.dirtySince = dirtySince
    current?.saveAt = min(max(source.lastChange(of: offered.id), dirtySince) + limits.saveDelay, dirtySince + latest)
  }

  func tickCurrent(_ now: Moment) {
    guard let offered = current else { return }
    if let at = offered.saveAt, at <= now.uptime {
      // It may have changed since the date was set: `needs_save` is set without telling us each time (R2.3).
      scheduleSave(now)
      if let at = current?.saveAt, at <= now.uptime {
        current?.saveAt = nil
        save(offered.id, .due, now)
      }
    }
    let isDue = [offered.updateAt, offered.expiresAt].contains { at in at.map { $0 <= now.uptime } ?? false }
    if isDue { putCurrent(now) }
  }
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
