// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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
    /// Nil if the hub has nothing of it.
    var published: Published?
    /// The uptime at which to publish a change that came too soon after the last one (R2.8).
    var updateAt: Int64?
    /// The next save by time (R2.2); nil: none is due.
    var dueSave: DueSave?
    var expiry = Expiry()
  }

  /// The offer that the hub has.
  private struct Published {
    let description: OfferDescription
    /// The uptime at which it was sent.
    let at: Int64
    let activation: UInt64
  }

  private struct DueSave {
    /// Uptimes in milliseconds.
    var at: Int64
    let dirtySince: Int64
  }

  private struct Expiry {
    /// The uptime at which to look whether it has expired, or is offered again; nil: not at all.
    private(set) var looksAt: Int64?
    /// Its expiration date when it was offered last, and the uptime at which that was to come.
    private var expected: (date: Double, uptime: Int64)?
    private var pause = ExpiryPause()

    /// Nothing is published, so nothing is looked at.
    mutating func wait() { looksAt = nil }

    /// It can be offered.
    mutating func expect(_ date: Double?, _ now: Instant) {
      looksAt = date.map { now.uptime(of: $0) }
      pause.end()
      expected = date.flatMap { date in
        let timing = OfferTiming(activatedAt: now.uptime, expirationDate: date, now: now)
        return timing.remaining.map { (date, now.uptime + $0) }
      }
    }

    /// It has expired: by a wrong clock, unless that came when it was to come.
    mutating func lookAgain(_ date: Double?, _ now: Instant) {
      let isEarly = expected.map { $0.date == date && $0.uptime - now.uptime > ExpiryPause.least } ?? false
      looksAt = isEarly ? pause.next(now) : nil
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
      // An activity that can be searched is saved when it becomes current (R8.1).
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

  /// The label of the app has changed.
  func relabel(_ now: Instant) { put(state, now) }

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
    current?.dueSave = nil
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
    if current?.dueSave != nil { scheduleSave(state, now) }
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
      current?.dueSave = nil
      return
    }
    let dirtySince = current?.dueSave?.dirtySince ?? now.uptime
    let latest = max(app.limits.saveLatest, app.limits.saveDelay)
    let lastChange = max(app.owner.lastChange(of: id), dirtySince)
    current?.dueSave = DueSave(
      at: min(lastChange + app.limits.saveDelay, dirtySince + latest), dirtySince: dirtySince)
  }

  // MARK: Telling the hub

  private func update(_ now: Instant) {
    let state = state
    scheduleSave(state, now)
    put(state, now)
  }

  private func withdraw(_ former: Offered) { if former.published != nil { hub.send(.withdraw(former.id)) } }

  /// Publishes the current activity to the hub, unless the hub knows it, or got an update just now.
  private func put(_ state: Activity?, _ now: Instant) {
    guard let id else { return }
    guard hub.isWelcome, let state else {
      // The next hub gets everything at once: until then nothing is due.
      current?.updateAt = nil
      current?.expiry.wait()
      return
    }
    guard state.isOfferable(at: now.date) else {
      if state.isExpired(at: now.date) {
        current?.expiry.lookAgain(state.expirationDate, now)
      } else {
        current?.expiry.wait()
      }
      current?.updateAt = nil
      if let current { withdraw(current) }
      current?.published = nil
      return
    }
    current?.expiry.expect(state.expirationDate, now)
    let description = OfferDescription(state, id: id, label: app.label)
    if let published = current?.published, published.activation == current?.activation {
      guard published.description != description else {
        current?.updateAt = nil
        return
      }
      let mayAt = published.at + Limits.offerUpdate
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
    offered.published = Published(description: description, at: now.uptime, activation: offered.activation)
    current = offered
    let timing = OfferTiming(
      activatedAt: offered.activatedAt, expirationDate: description.expirationDate, now: now)
    hub.sendChecked(.publish(description, timing, activation: offered.activation), now)
  }

  // MARK: Life cycle

  func connected(_ now: Instant) { put(state, now) }

  func disconnected(_ now: Instant) { current?.published = nil }

  func tick(_ now: Instant) {
    noteAnswers(now)
    guard let offered = current else { return }
    if let due = offered.dueSave, due.at <= now.uptime {
      // The activity may have changed since the deadline was set: not each `needs_save` reaches the engine (R2.3).
      scheduleSave(state, now)
      if let due = current?.dueSave, due.at <= now.uptime {
        // While another save runs, this one waits for its end.
        let end = saves.deadline(of: offered.id)
        current?.dueSave = end.map { DueSave(at: $0, dirtySince: due.dirtySince) }
        save(offered.id, .due, now)
      }
    }
    let isDue = [offered.updateAt, offered.expiry.looksAt].contains { at in at.map { $0 <= now.uptime } ?? false }
    if isDue { put(state, now) }
  }

  var nextDeadline: Int64? {
    earlier(earlier(current?.updateAt, current?.dueSave?.at), current?.expiry.looksAt)
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
  /// - Parameter label: of the app (R13.6).
  init(_ activity: Activity, id: Identifier, label: String? = nil) {
    self.init(
      id: id, type: activity.type, title: activity.title, payloadVersion: activity.payloadVersion,
      // The parts that vary in size; the rest of a document is small.
      sizeHint: UInt64(activity.userInfo?.encoding.count ?? 0),
      expirationDate: activity.expirationDate,
      supportsContinuationStreams: activity.supportsContinuationStreams, isPrivate: activity.isPrivate,
      webOrigin: activity.webOrigin, isPublic: activity.isPublic, contentType: activity.offeredContentType,
      label: label)
  }
}
