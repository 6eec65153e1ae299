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
  /// The continuations that wait for it.
  var waiting: [Identifier]
}

extension AppEngine {
  /// Brings the snapshot of an activity up to date (R2.2): if it needs saving, the mark is cleared, will_save runs, and
  /// a snapshot is taken. Then the continuation, if any, gets it.
  func save(_ id: Identifier, for continuation: Identifier?, _ now: Moment) {
    if let index = saves.firstIndex(where: { $0.activity == id }) {
      if let continuation { saves[index].waiting.append(continuation) }
      return
    }
    guard let activity = source.activity(id) else { return }
    if activity.needsSave {
      source.setNeedsSave(false, of: id)
      if current?.id == id {
        current?.saveAt = nil
        current?.dirtySince = nil
      }
      if source.answersWillSave(id) {
        let number = nextSave
        nextSave += 1
        saves.append(
          Save(
            number: number, activity: id, deadline: now.uptime + limits.save,
            waiting: continuation.map { [$0] } ?? []))
        deliveries.append(.willSave(activity: id, save: number))
        return
      }
      takeSnapshot(id, for: continuation.map { [$0] } ?? [], now)
    } else if snapshots[id] == nil {
      takeSnapshot(id, for: continuation.map { [$0] } ?? [], now)
    } else if let continuation {
      sendState(to: continuation, isStale: false, now)
    }
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
  }

  /// Whoever waits for an app that does not answer gets the last snapshot, or an error (R2.4).
  func tickSaves(_ now: Moment) {
    while let index = saves.firstIndex(where: { $0.deadline <= now.uptime }) {
      let save = saves.remove(at: index)
      log(.error, "will_save was not answered within \(limits.save) ms")
      // What it would have said is still unsaved.
      source.setNeedsSave(true, of: save.activity)
      for continuation in save.waiting { sendState(to: continuation, isStale: true, now) }
    }
  }

  /// Takes a snapshot, and sends it to those who wait; if it cannot be taken, they hear why.
  private func takeSnapshot(_ id: Identifier, for waiting: [Identifier], _ now: Moment) {
    do throws(SegueError) {
      guard let activity = source.activity(id) else {
        throw SegueError(.handoffFailed, "the activity was invalidated")
      }
      snapshots[id] = Snapshot(document: try ActivityDocument.encode(activity))
      for continuation in waiting { sendState(to: continuation, isStale: false, now) }
    } catch {
      log(.error, "no snapshot: \(error.message)")
      // Still unsaved: an older snapshot must not pass for the present state.
      source.setNeedsSave(true, of: id)
      for continuation in waiting { refuse(continuation, error, now) }
    }
  }
}
