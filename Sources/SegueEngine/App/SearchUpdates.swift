// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The updates of an app's saved activities for the agent (R8.1, R8.2): sent in order and one at a time, so that no
/// deletion overtakes a save before it.
final class SearchUpdates: AppFeature {
  /// The most saved states that wait for an agent, and the most bytes of them if there are several.
  static let saveLimit = 64
  static let saveBytes = 4 * 1024 * 1024
  /// The most deletions that wait.
  static let deletionLimit = 128
  /// The most private activities that wait to be deleted.
  static let privateLimit = 1_024
  /// Milliseconds between two saves: an app that changes all the time does not keep the disk busy.
  static let savePause: Int64 = 100
  /// Milliseconds after which a failed update is sent again: twice as many each time.
  private static let firstRetry: Int64 = 100
  private static let lastRetry: Int64 = 30_000

  /// An object, since it is passed on.
  private final class Update {
    enum Kind {
      case save
      /// For whose answer the host waits until the deadline.
      case deletion
      /// An activity has become private (R10.2).
      case privacy
    }

    let kind: Kind
    /// The encoded question.
    let question: [UInt8]
    /// The number of a deletion.
    let number: UInt64?
    let deadline: Int64
    /// The activity, its persistent identifier and expiration date, unless it is a deletion.
    let activity: Identifier
    let name: Value?
    let expirationDate: Double
    /// The set of persistent identifiers of a deletion; nil: all.
    let names: Value?

    init(saving activity: Identifier, _ state: Activity, _ question: [UInt8]) {
      kind = .save
      self.question = question
      self.activity = activity
      number = nil
      deadline = .max
      name = state.persistentIdentifier.map { .string($0) }
      expirationDate = state.expirationDate ?? .infinity
      names = nil
    }

    init(hiding activity: Identifier, named names: Value, _ question: [UInt8]) {
      kind = .privacy
      self.question = question
      self.activity = activity
      self.names = names
      number = nil
      deadline = .max
      name = nil
      expirationDate = .infinity
    }

    init(deleting names: Value?, _ question: [UInt8], number: UInt64, by deadline: Int64) {
      kind = .deletion
      self.question = question
      self.number = number
      self.deadline = deadline
      self.names = names
      activity = Identifier(high: 0, low: 0)
      name = nil
      expirationDate = .infinity
    }

    var isSave: Bool { kind == .save }

    /// Whether this later update makes an earlier one needless.
    func supersedes(_ other: Update) -> Bool {
      switch other.kind {
      case .deletion: return false
      case .privacy: return kind == .privacy && activity == other.activity && names == other.names
      case .save: break
      }
      if kind != .deletion, activity == other.activity { return true }
      if kind == .deletion, names == nil { return true }
      guard let itsName = other.name else { return false }
      return isSave ? name == itsName : names?.elements?.contains(itsName) ?? false
    }
  }

  private let app: AppContext
  private let hub: HubConnection
  private let saves: Saves
  private let requests: AppRequests
  private var updates: [Update] = []
  /// The activities that this app has saved.
  private var saved: Set<Identifier> = .init()
  /// The persistent identifiers of the private ones when their saved state was to be deleted; nil: it had none.
  private var hidden: [Identifier: Value?] = .init()
  /// The one that the agent has not answered yet.
  private var sent: Update?
  /// The uptimes before which no save, and nothing at all, is sent.
  private var savesAt: Int64 = 0
  private var retriesAt: Int64 = 0
  private var retryPause = SearchUpdates.firstRetry

  init(_ app: AppContext, _ hub: HubConnection, _ saves: Saves, _ requests: AppRequests) {
    self.app = app
    self.hub = hub
    self.saves = saves
    self.requests = requests
  }

  // MARK: Queueing

  /// Deletes saved activities of this app.
  /// - Parameter names: a set of persistent identifiers; nil: all.
  /// - Returns: the number of the delivery `answered`.
  func delete(_ names: Value?, _ now: Instant) -> UInt64 {
    let number = app.takeNumber()
    do throws(SegueError) {
      guard updates.count(where: { $0.kind == .deletion }) < Self.deletionLimit else {
        throw SegueError(.limitExceeded, "app: \(Self.deletionLimit) deletions wait for the agent")
      }
      var entries = [(key: Value.string("ask"), value: Value.string("delete"))]
      if let names { entries.append((key: .string("persistent_identifiers"), value: names)) }
      let question = try Value.dictionary(entries).encoding
      if let error = requests.rejection(toSize: UInt64(question.count), of: "the list of identifiers") { throw error }
      add(Update(deleting: names, question, number: number, by: now.uptime + app.limits.continuation))
      advance(now)
    } catch {
      app.deliver(.answered(number, [], error))
    }
    return number
  }

  /// An activity may have become private, or a private one may have got a persistent identifier, under which an earlier
  /// process may have saved it: what was saved of it is deleted (R10.2), and what waits to be saved, too.
  func noteState(of id: Identifier, _ now: Instant) {
    guard let state = app.owner.activity(id), state.isPrivate else {
      hidden.removeValue(forKey: id)
      return
    }
    saves.removeSearchable(id)
    let name = state.persistentIdentifier.map { Value.string($0) }
    guard !app.identity.isChooser, name != nil || saved.contains(id), hidden[id] != .some(name) else { return }
    hidden.updateValue(name, forKey: id)
    saved.remove(id)
    hide(id, state)
    advance(now)
  }

  /// Also what an earlier process has saved under its persistent identifier. An agent that knows no activities here
  /// deletes that.
  private func hide(_ id: Identifier, _ state: Activity) {
    do throws(SegueError) {
      let names = try Value.set(state.persistentIdentifier.map { [.string($0)] } ?? [])
      let question = try Value.dictionary([
        (key: .string("ask"), value: .string("delete")), (key: .string("persistent_identifiers"), value: names),
        (key: .string("activities"), value: .array([.uuid(id)])),
      ])
      add(Update(hiding: id, named: names, question.encoding))
      while updates.count(where: { $0.kind == .privacy }) > Self.privateLimit,
        let oldest = updates.firstIndex(where: { $0.kind == .privacy })
      {
        updates.remove(at: oldest)
        app.log(.error, "a private activity stays saved for search: no agent deletes it")
      }
    } catch {
      app.log(.error, "\(state.type) stays saved for search: \(error.message)")
    }
  }

  /// The activity was invalidated.
  func remove(activity: Identifier) {
    saved.remove(activity)
    hidden.removeValue(forKey: activity)
  }

  private func save(_ saved: SavedState) {
    do throws(SegueError) {
      let document = try ActivityDocument.encodeForSearch(
        saved.activity, app.owner.containers, userInfoLimit: app.limits.userInfo)
      let question = try Value.dictionary([
        (key: .string("ask"), value: .string("save")), (key: .string("activity"), value: .uuid(saved.id)),
        (key: .string("document"), value: .data(document)),
      ])
      add(Update(saving: saved.id, saved.activity, question.encoding))
      if app.owner.activity(saved.id) != nil { self.saved.insert(saved.id) }
    } catch {
      app.log(.error, "\(saved.activity.type) is not saved for search: \(error.message)")
    }
  }

  private func add(_ update: Update) {
    updates.removeAll { update.supersedes($0) }
    updates.append(update)
    while updates.count(where: { $0.isSave }) > 1,
      updates.count(where: { $0.isSave }) > Self.saveLimit || heldBytes > Self.saveBytes,
      let oldest = updates.firstIndex(where: { $0.isSave })
    {
      updates.remove(at: oldest)
      app.log(.debug, "what was saved for search first is dropped: no agent takes it")
    }
  }

  // MARK: Sending

  /// Takes what was saved and what the agent has answered, and sends the next update.
  func advance(_ now: Instant) {
    while let saved = saves.takeSearchable() { save(saved) }
    while true {
      if let (bytes, error) = requests.takeAgentAnswer(), let update = sent {
        sent = nil
        finish(update, bytes, error, now)
      }
      if hub.isWelcome, hub.agent?.participant == nil {
        failDeletions(by: .max, SegueError(.connectionUnavailable, "no agent runs; start segue-agent"))
      }
      guard let at = nextSend, at <= now.uptime else { return }
      send(updates.removeFirst(), now)
    }
  }

  /// The uptime at which the next update may go. A deletion takes what is before it along.
  private var nextSend: Int64? {
    guard hub.isWelcome, hub.agent?.participant != nil, sent == nil, !updates.isEmpty else { return nil }
    return updates.allSatisfy { $0.isSave } ? max(savesAt, retriesAt) : retriesAt
  }

  private func send(_ update: Update, _ now: Instant) {
    guard let agent = hub.agent?.participant, update.expirationDate > now.date else { return }
    if sent == nil { sent = update }
    requests.askAgent(update.question, agent, until: min(update.deadline, now.uptime + app.limits.continuation), now)
  }

  private func finish(_ update: Update, _ bytes: [UInt8], _ error: SegueError?, _ now: Instant) {
    if let error, Self.isPassing(error.status), update.deadline > now.uptime {
      if !updates.contains(where: { $0.supersedes(update) }) { updates.insert(update, at: 0) }
      retriesAt = now.uptime + retryPause
      retryPause = min(2 * retryPause, Self.lastRetry)
      return
    }
    retryPause = Self.firstRetry
    if let number = update.number { return app.deliver(.answered(number, bytes, error)) }
    savesAt = now.uptime + Self.savePause
    guard let error else { return }
    app.log(
      .error,
      update.isSave
        ? "an activity is not saved for search: \(error.message)"
        : "a private activity stays saved for search: \(error.message)")
  }

  private static func isPassing(_ status: Status) -> Bool {
    status == .connectionUnavailable || status == .remoteApplicationTimedOut || status == .busy
  }

  /// Deletions that are due by then end with an error.
  private func failDeletions(by uptime: Int64, _ error: @autoclosure () -> SegueError) {
    while let index = updates.firstIndex(where: { $0.kind == .deletion && $0.deadline <= uptime }) {
      guard let number = updates.remove(at: index).number else { continue }
      app.deliver(.answered(number, [], error()))
    }
  }

  // MARK: Life cycle

  func connected(_ now: Instant) {
    retriesAt = 0
    advance(now)
  }

  /// Requests in progress have failed before: what was sent is sent again.
  func disconnected(_ now: Instant) { advance(now) }

  func tick(_ now: Instant) {
    advance(now)
    failDeletions(by: now.uptime, SegueError(.connectionUnavailable, "no agent has answered in time"))
  }

  var nextDeadline: Int64? {
    var next = nextSend
    for update in updates where update.kind == .deletion { next = earlier(next, update.deadline) }
    return next
  }

  /// The app closes: sends all that was saved or is private, without waiting for answers.
  func flush(_ now: Instant) {
    advance(now)
    guard hub.isWelcome else { return }
    for update in updates where update.kind != .deletion { send(update, now) }
    updates.removeAll { $0.kind != .deletion }
  }

  func close(_ error: SegueError, _ now: Instant) {
    if let sent, sent.kind == .deletion { updates.append(sent) }
    sent = nil
    failDeletions(by: .max, error)
    (updates, saved, hidden) = ([], .init(), .init())
  }

  var isIdle: Bool { sent == nil && updates.isEmpty }

  var brokenInvariant: StaticString? {
    updates.count > Self.saveLimit + Self.deletionLimit + Self.privateLimit + 1
      ? "R8.1: too many updates wait for the agent" : nil
  }

  var heldBytes: Int { updates.reduce(sent?.question.count ?? 0) { $0 + $1.question.count } }
}
