// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Finds out whether an activity has changed since it was sent to the app from which its state comes back (R3.10): a
/// save of it has to give the same bytes as then.
final class OriginChanges {
  private let incoming: IncomingContinuations
  private let current: CurrentActivity
  private let saves: Saves
  private let grants: ActivityGrants
  private let app: AppContext

  init(
    _ app: AppContext, _ incoming: IncomingContinuations, _ current: CurrentActivity, _ saves: Saves,
    _ grants: ActivityGrants
  ) {
    self.app = app
    self.incoming = incoming
    self.current = current
    self.saves = saves
    self.grants = grants
  }

  /// Takes the next step for each state that has come back. To be called when a state or the answer to a save may have
  /// come.
  func advance(_ now: Instant) {
    var former: Identifier?
    while let next = incoming.nextComparison(after: former) {
      former = next.id
      // A save that has begun may miss what has changed since.
      guard !saves.isSaving(next.activity) else { continue }
      if !next.isSaving {
        incoming.noteSave(for: next.id)
        current.save(next.activity, .compared, now)
        guard !saves.isSaving(next.activity) else { continue }
      }
      // Read before the state that is compared: a later change counts.
      let changeCount = app.owner.changeCount(of: next.activity)
      let hasChanged = hasChanged(next.activity, since: next.sent)
      incoming.ask(next.id, OriginComparison(hasChanged: hasChanged, changeCount: changeCount), now)
    }
  }

  /// Whether it has changed since that continuation. A save that failed leaves it in need of one.
  private func hasChanged(_ activity: Identifier, since sent: Identifier) -> Bool {
    guard let revision = grants.revision(of: sent), let state = app.owner.activity(activity), !state.needsSave,
      let snapshot = saves.takeSnapshot(of: activity, in: state)
    else { return true }
    return snapshot.revision != revision
  }

  /// Replaces an activity by the state that has come back, if the host has agreed and it has not changed since. The
  /// activity then has the same state as in the other app, also while a save is under way.
  func replace(by id: Identifier, _ now: Instant) {
    guard let next = incoming.replacement(by: id) else { return }
    var state = app.owner.replace(next.activity, with: next.state, ifChangeCountIs: next.changeCount)
    if state == nil {
      // A save may have written what was there.
      let changeCount = app.owner.changeCount(of: next.activity)
      if !hasChanged(next.activity, since: next.sent) {
        state = app.owner.replace(next.activity, with: next.state, ifChangeCountIs: changeCount)
      }
    }
    guard let state else { return incoming.declineChanged(id, now) }
    guard let snapshot = saves.takeSnapshot(of: next.activity, in: state) else { return }
    grants.setRevision(snapshot.revision, of: next.sent)
  }
}
