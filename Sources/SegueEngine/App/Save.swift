import SegueModel
import SegueWire

/// A saved state of an activity.
struct Snapshot {
  let document: [UInt8]
}

/// A will_save that the app has not answered yet.
struct Save {
  let number: UInt64
  let activity: Identifier
  let deadline: Int64
  /// The continuations that asked for it before will_save began.
  var waiting: [Identifier]
  /// Those that came later: what will_save gathers may be older than they are.
  var late: [Identifier] = []
  /// will_save has begun.
  var hasBegun = false
}

/// Why an activity is saved.
enum SaveReason {
  /// Its time has come, or it resigns.
  case due
  /// Somebody continues it.
  case pulled(Identifier)
  /// Its app goes to the background, or closes.
  case leaving

  var continuations: [Identifier] { if case .pulled(let continuation) = self { [continuation] } else { [] } }
}

extension AppEngine {
  /// Brings the snapshot of an activity up to date (R2.2): if it is to be saved, the mark is cleared, will_save runs, and
  /// a snapshot is taken. Then the continuation, if any, gets it.
  func save(_ id: Identifier, _ reason: SaveReason, _ now: Moment) {
    if let index = saves.firstIndex(where: { $0.activity == id }) {
      if saves[index].hasBegun {
        saves[index].late += reason.continuations
      } else {
        saves[index].waiting += reason.continuations
      }
      return
    }
    guard let activity = source.activity(id) else { return }
    // What is not restored yet cannot tell its state: what was received is passed on (R4.2).
    guard !isBeingRestored(id) else { return takeSnapshot(id, for: reason.continuations, now) }
    let mustSave = activity.needsSave || savesUnasked(activity, reason)
    if activity.needsSave {
      source.setNeedsSave(false, of: id)
      if current?.id == id {
        current?.saveAt = nil
        current?.dirtySince = nil
      }
    }
    guard mustSave, source.answersWillSave(id) else { return takeSnapshot(id, for: reason.continuations, now) }
    let number = nextSave
    nextSave += 1
    saves.append(
      Save(number: number, activity: id, deadline: now.uptime + limits.save, waiting: reason.continuations))
    deliveries.append(.willSave(activity: id, save: number))
  }

  /// Whether will_save runs although nothing is known to need saving (R2.9).
  private func savesUnasked(_ activity: Activity, _ reason: SaveReason) -> Bool {
    guard savePolicy == .whenPulled, !activity.isDeclaredSaved else { return false }
    return switch reason {
    case .due: false
    case .pulled, .leaving: true
    }
  }

  /// Its continuation is not answered yet (R4.2).
  func isBeingRestored(_ id: Identifier) -> Bool {
    guard let continuation = source.continuation(of: id) else { return false }
    return incoming.contains { $0.id == continuation }
  }

  /// will_save begins: who asks from now on may want more than it gathers.
  public func saveBegan(_ number: UInt64) {
    guard let index = saves.firstIndex(where: { $0.number == number }) else { return }
    saves[index].hasBegun = true
  }

  /// The app has answered will_save.
  public func saved(_ number: UInt64, _ now: Moment) {
    guard let index = saves.firstIndex(where: { $0.number == number }) else {
      // Too late: no snapshot was taken. Now that it answers again, it is asked again.
      return scheduleSave(now)
    }
    let save = saves.remove(at: index)
    // It may have changed while it was saved.
    if current?.id == save.activity { scheduleSave(now) }
    takeSnapshot(save.activity, for: save.waiting, now)
    if current?.id == save.activity { putCurrent(now) }
    for continuation in save.late { self.save(save.activity, .pulled(continuation), now) }
  }

  /// The app has answered will_save: it could not bring the activity up to date (R2.4).
  public func saveFailed(_ number: UInt64, _ now: Moment) {
    guard let index = saves.firstIndex(where: { $0.number == number }) else { return }
    log(.error, "will_save failed")
    abandonSave(at: index, SegueError(.handoffFailed, "the origin could not save, and has no older snapshot"), now)
  }

  func tickSaves(_ now: Moment) {
    while let index = saves.firstIndex(where: { $0.deadline <= now.uptime }) {
      log(.error, "will_save was not answered within \(limits.save) ms")
      let error = SegueError(.remoteApplicationTimedOut, "the origin did not save in time, and has no older snapshot")
      abandonSave(at: index, error, now)
    }
  }

  /// Those who wait get the last snapshot, marked stale, or else the error (R2.4).
  private func abandonSave(at index: Int, _ error: SegueError, _ now: Moment) {
    let save = saves.remove(at: index)
    // What it would have said is still unsaved.
    source.setNeedsSave(true, of: save.activity)
    for continuation in save.waiting + save.late {
      guard let snapshot = snapshots[save.activity] else {
        refuse(continuation, error, now)
        continue
      }
      send(snapshot, to: continuation, isStale: true, now)
    }
  }

  /// Takes a snapshot, and sends it to those who wait; if it cannot be taken, they hear why.
  private func takeSnapshot(_ id: Identifier, for waiting: [Identifier], _ now: Moment) {
    do throws(SegueError) {
      guard let activity = source.activity(id) else {
        throw SegueError(.handoffFailed, "the activity was invalidated")
      }
      let snapshot = Snapshot(document: try ActivityDocument.encode(activity))
      snapshots[id] = snapshot
      for continuation in waiting { send(snapshot, to: continuation, isStale: false, now) }
    } catch {
      log(.error, "no snapshot: \(error.message)")
      // Still unsaved: an older snapshot must not pass for the present state.
      source.setNeedsSave(true, of: id)
      for continuation in waiting { refuse(continuation, error, now) }
    }
  }
}
