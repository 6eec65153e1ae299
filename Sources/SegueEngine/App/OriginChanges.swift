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
      incoming.ask(next.id, hasChanged: hasChanged(next.activity, since: next.sent), now)
    }
  }

  /// Whether it has changed since that continuation. A save that failed leaves it in need of one.
  private func hasChanged(_ activity: Identifier, since sent: Identifier) -> Bool {
    guard let revision = grants.revision(of: sent), let snapshot = saves.snapshot(of: activity) else { return true }
    return snapshot.revision != revision || app.owner.activity(activity)?.needsSave ?? true
  }

  /// The state of that continuation has replaced the one here.
  func replaced(_ activity: Identifier, sent: Identifier) {
    guard let snapshot = saves.snapshot(of: activity) else { return }
    grants.setRevision(snapshot.revision, of: sent)
  }
}
