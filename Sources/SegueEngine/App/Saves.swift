// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A saved state of an activity.
struct Snapshot {
  let document: [UInt8]
  /// The document without the names of attachments, which do not come back (R3.10).
  fileprivate let payload: [UInt8]
  /// Rises with each snapshot whose payload differs from the one before.
  let revision: UInt64
}

/// The result of a save for a continuation.
enum PulledState {
  /// - Parameter staleness: why it is an older one, without the name of the app; nil if it is not (R2.4).
  case snapshot(Snapshot, for: Identifier, staleness: String?)
  /// The app has not saved it, and there is no older one. The message goes without the name of the app.
  case unsaved(SegueError, for: Identifier)
  case failed(SegueError, for: Identifier)
}

/// An activity that can be searched, as it was saved (R8.1). An object, because an activity is large.
final class SavedState {
  let id: Identifier
  let activity: Activity

  init(_ id: Identifier, _ activity: Activity) {
    self.id = id
    self.activity = activity
  }
}

/// Why an activity is saved.
enum SaveReason {
  /// A save by time, or a resignation.
  case due
  /// A continuation.
  case pulled(Identifier)
  /// The snapshot outlives the state: the app goes to the background, or closes, or the activity is saved for search.
  case leaving
  /// Its state was replaced by one that needs no saving.
  case replaced
  /// It is compared with what was sent (R3.10).
  case compared

  var continuations: [Identifier] { if case .pulled(let continuation) = self { [continuation] } else { [] } }
  /// Whether what stays as it is counts as saved for search, too (R8.1).
  var isForSearch: Bool {
    switch self {
    case .leaving, .replaced: true
    case .due, .pulled, .compared: false
    }
  }
}

/// An unanswered will_save.
private struct Save {
  let number: UInt64
  let activity: Identifier
  let deadline: Int64
  /// The continuations that asked before will_save began.
  var waiting: [Identifier]
  /// Later continuations: will_save may miss changes before them.
  var late: [Identifier] = []
  /// will_save has begun.
  var hasBegun = false
  /// Its state when the save was due, if it can be searched.
  var searchable: SavedState?
}

/// The last saved states of an app's activities, and the saves that produce them.
final class Saves: AppFeature {
  private let app: AppContext
  private let policy: SavePolicy
  private let incoming: IncomingContinuations
  private let responders: Responders
  private var saves: [Save] = []
  private var nextNumber: UInt64 = 1
  private var snapshots: [Identifier: Snapshot] = .init()
  private var lastRevision: UInt64 = 0
  /// Results for continuations, until `takePulled`.
  private var pulled: [PulledState] = []
  /// The saved states that can be searched, until `takeSearchable`.
  private var searchable: [SavedState] = []

  init(_ app: AppContext, _ policy: SavePolicy, _ incoming: IncomingContinuations, _ responders: Responders) {
    self.app = app
    self.policy = policy
    self.incoming = incoming
    self.responders = responders
  }

  /// Brings the snapshot of an activity up to date (R2.2): if a save is due, clears the mark, runs will_save, and takes
  /// a snapshot. Then the continuation, if any, gets it.
  /// - Returns: whether the mark was cleared.
  func save(_ id: Identifier, _ reason: SaveReason, _ now: Instant) -> Bool {
    if let index = saves.firstIndex(where: { $0.activity == id }) {
      if saves[index].hasBegun {
        saves[index].late += reason.continuations
      } else {
        saves[index].waiting += reason.continuations
      }
      return false
    }
    guard var activity = app.owner.activity(id) else { return false }
    // An activity that is not restored yet is not saved: passes on what was received (R4.2).
    guard !isBeingRestored(id) else {
      takeSnapshot(of: activity, id, for: reason.continuations, isNew: false)
      return false
    }
    let isMarked = activity.needsSave
    let mustSave = activity.needsSave || savesUnasked(activity, reason)
    if isMarked {
      app.owner.setNeedsSave(false, of: id)
      // Read again: a change of another thread just before has lost its mark.
      activity = app.owner.activity(id) ?? activity
    }
    if mustSave, responders.contribute(to: id) || app.owner.answersWillSave(id) {
      saves.append(
        Save(
          number: nextNumber, activity: id, deadline: now.uptime + app.limits.save, waiting: reason.continuations,
          searchable: activity.isSearchable ? SavedState(id, activity) : nil))
      app.deliver(.willSave(activity: id, save: nextNumber))
      nextNumber += 1
    } else {
      takeSnapshot(of: activity, id, for: reason.continuations, isNew: isMarked || reason.isForSearch)
    }
    return isMarked
  }

  /// Whether will_save runs although the activity is not marked (R2.9).
  private func savesUnasked(_ activity: Activity, _ reason: SaveReason) -> Bool {
    guard policy == .whenPulled, !activity.isDeclaredSaved else { return false }
    return switch reason {
    case .due, .replaced: false
    case .pulled, .leaving, .compared: true
    }
  }

  /// Whether its continuation is not answered yet (R4.2).
  func isBeingRestored(_ id: Identifier) -> Bool {
    app.owner.continuation(of: id).map { incoming.contains($0) } ?? false
  }

  // MARK: Snapshots

  /// Whether will_save runs, or is about to.
  func isSaving(_ id: Identifier) -> Bool { saves.contains { $0.activity == id } }

  /// The uptime at which the save of an activity is given up; nil if none runs.
  func deadline(of id: Identifier) -> Int64? { saves.first { $0.activity == id }?.deadline }

  /// The last one of an activity; nil if there is none.
  func snapshot(of id: Identifier) -> Snapshot? { snapshots[id] }

  /// Takes one of the activity as it is, without a save.
  func takeSnapshot(of id: Identifier) { takeSnapshot(of: app.owner.activity(id), id, for: [], isNew: false) }

  /// Takes one of the activity in this state, without a save.
  /// - Returns: nil if there can be none: the activity needs a save then.
  func takeSnapshot(of id: Identifier, in state: Activity) -> Snapshot? {
    takeSnapshot(of: state, id, for: [], isNew: false)
  }

  // MARK: Answers

  /// The host is asked from now on: it may miss changes for receivers that ask later.
  /// - Returns: whom to ask; nil if the save was given up.
  func began(_ number: UInt64) -> SavePlan? {
    guard let index = index(of: number) else { return nil }
    saves[index].hasBegun = true
    return responders.plan(for: saves[index].activity)
  }

  /// The activity of a will_save; nil if it was given up.
  func activity(of number: UInt64) -> Identifier? { index(of: number).map { saves[$0].activity } }

  /// The app has answered a will_save.
  /// - Parameter state: the current activity; nil if it was invalidated.
  /// - Returns: continuations that need another save.
  func finish(_ number: UInt64, _ state: Activity?) -> [Identifier] {
    guard let index = index(of: number) else { return [] }
    let save = saves.remove(at: index)
    takeSnapshot(of: state, save.activity, for: save.waiting, isNew: true)
    return save.late
  }

  /// The app has answered a will_save: it could not bring the activity up to date (R2.4).
  /// - Parameter reason: of the app, for people.
  func failed(_ number: UInt64, _ reason: String?) {
    guard let index = index(of: number) else { return }
    let why: DiagnosticText = reason.map { ": \($0)" } ?? ""
    app.log(.error, "a save failed\(why)")
    abandon(at: index, SegueError(.handoffFailed, "could not save\(why)"))
  }

  /// The next that a continuation has asked for, or nil.
  func takePulled() -> PulledState? { pulled.isEmpty ? nil : pulled.removeFirst() }

  /// The next activity that was saved and can be searched (R8.1), in its saved state; or nil.
  func takeSearchable() -> SavedState? { searchable.isEmpty ? nil : searchable.removeFirst() }

  /// The activity has become private: no earlier state is saved for search.
  func removeSearchable(_ id: Identifier) {
    searchable.removeAll { $0.id == id }
    for index in saves.indices where saves[index].activity == id { saves[index].searchable = nil }
  }

  /// Removes a waiting continuation.
  func remove(continuation: Identifier) {
    for index in saves.indices {
      saves[index].waiting.removeAll { $0 == continuation }
      saves[index].late.removeAll { $0 == continuation }
    }
  }

  /// The activity was invalidated. If will_save was due, its state before that is saved for search.
  func remove(activity: Identifier) {
    snapshots[activity] = nil
    for save in saves where save.activity == activity {
      if let state = save.searchable { searchable.append(state) }
    }
    saves.removeAll { $0.activity == activity }
  }

  // MARK: Life cycle

  func tick(_ now: Instant) {
    while let index = saves.firstIndex(where: { $0.deadline <= now.uptime }) {
      app.log(.error, "a save was not answered within \(app.limits.save) ms")
      abandon(at: index, SegueError(.remoteApplicationTimedOut, "did not save in time"))
    }
  }

  var nextDeadline: Int64? {
    var next: Int64?
    for index in saves.indices { next = earlier(next, saves[index].deadline) }
    return next
  }

  func close(_ error: SegueError, _ now: Instant) { saves = [] }

  var leak: StaticString? {
    if !saves.isEmpty || !pulled.isEmpty { return "app: it keeps a save" }
    return snapshots.keys.contains { app.owner.activity($0) == nil } ? "app: it keeps a snapshot of what is gone" : nil
  }

  var brokenInvariant: StaticString? {
    for save in saves where saves.count(where: { $0.activity == save.activity }) != 1 {
      return "R2.3: two saves of one activity"
    }
    return nil
  }

  // MARK: Steps

  private func index(of number: UInt64) -> Int? { saves.firstIndex { $0.number == number } }

  /// Waiting continuations get the last snapshot, marked stale, or the error (R2.4).
  /// - Parameter error: without the name of the app.
  private func abandon(at index: Int, _ error: SegueError) {
    let save = saves.remove(at: index)
    app.owner.gaveUpSave(save.number, of: save.activity)
    // The activity still needs saving.
    app.owner.setNeedsSave(true, of: save.activity)
    let snapshot = snapshots[save.activity]
    for continuation in save.waiting + save.late {
      if let snapshot {
        pulled.append(.snapshot(snapshot, for: continuation, staleness: error.message))
      } else {
        pulled.append(.unsaved(error, for: continuation))
      }
    }
  }

  /// Takes a snapshot for the waiting continuations; on failure they get the error.
  /// - Parameter isNew: whether it counts as saved for search, too (R8.1).
  /// - Returns: nil on failure.
  @discardableResult
  private func takeSnapshot(
    of activity: Activity?, _ id: Identifier, for waiting: [Identifier], isNew: Bool
  ) -> Snapshot? {
    do throws(SegueError) {
      guard let activity else { throw SegueError(.handoffFailed, "the activity was invalidated") }
      let snapshot = try snapshot(of: activity, id)
      snapshots[id] = snapshot
      if isNew, activity.isSearchable { searchable.append(SavedState(id, activity)) }
      for continuation in waiting { pulled.append(.snapshot(snapshot, for: continuation, staleness: nil)) }
      return snapshot
    } catch {
      app.log(.error, "no snapshot: \(error.message)")
      // Still needs saving: an older snapshot must not count as the current state.
      app.owner.setNeedsSave(true, of: id)
      for continuation in waiting { pulled.append(.failed(error, for: continuation)) }
      return nil
    }
  }

  private func snapshot(of activity: Activity, _ id: Identifier) throws(SegueError) -> Snapshot {
    let left = app.owner.leftDocument(of: id)
    let document = if let left { left } else { try self.document(of: activity) }
    var payload = document
    if !activity.attachments.isEmpty {
      var bare = activity
      for attachment in activity.attachments { try bare.removeAttachment(attachment.name) }
      payload = try self.document(of: bare)
    }
    if let former = snapshots[id], former.payload == payload {
      return Snapshot(document: document, payload: payload, revision: former.revision)
    }
    lastRevision += 1
    return Snapshot(document: document, payload: payload, revision: lastRevision)
  }

  private func document(of activity: Activity) throws(SegueError) -> [UInt8] {
    try ActivityDocument.encode(activity, app.owner.containers, userInfoLimit: app.limits.userInfo)
  }
}
