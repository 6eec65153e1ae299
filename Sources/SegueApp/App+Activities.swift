// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem
import SegueWire

/// The calls of an app's activities.
extension App {
  /// Throws INVALIDATED if the app is closed.
  func register(_ activity: LiveActivity) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    switch state {
    case .created, .opening, .open: activities.add(activity)
    case .closing, .closed: throw SegueError(.invalidated, "app: is closed")
    }
  }

  func makeCurrent(_ activity: LiveActivity) throws(SegueError) {
    try perform { $0.becomeCurrent(activity.id, $1) }
  }

  func resignCurrent(_ activity: LiveActivity) {
    performIfOpen { $0.resignCurrent(activity.id, $1) }
  }

  func changed(_ activity: LiveActivity) {
    performIfOpen { $0.changed(activity.id, $1) }
  }

  func leave(_ activity: LiveActivity) {
    performIfOpen { $0.leave(activity.id, $1) }
  }

  func invalidate(_ activity: LiveActivity, isReleased: Bool) {
    performIfOpen { $0.invalidate(activity.id, isReleased: isReleased, $1) }
    monitor.lock()
    // Releases the object after the lock, for which others may wait.
    let gone = activities.remove(activity.id, isAttempted: isAttempted(activity.id))
    monitor.unlock()
    withExtendedLifetime(gone) {}
  }

  /// Whether the end of an attempt to continue an activity is still to be told. Called with the lock.
  func isAttempted(_ id: Identifier) -> Bool { due.hasEnd(of: id) || engine?.isAttempted(id) ?? false }

  public func setForeground(_ isForeground: Bool) throws(SegueError) {
    try perform { $0.setForeground(isForeground, $1) }
  }
}

/// The calls of the engine about an app's activities.
extension App: ActivitySource {
  public func activity(_ id: Identifier) -> Activity? { activities[id]?.validState }
  public func setNeedsSave(_ needsSave: Bool, of id: Identifier) { activities[id]?.setNeedsSaveQuietly(needsSave) }
  public func gaveUpSave(_ number: UInt64, of id: Identifier) { activities[id]?.giveUpSaving(number) }
  public func lastChange(of id: Identifier) -> Int64 { activities[id]?.changedAt ?? 0 }
  public func changeCount(of id: Identifier) -> UInt64 { activities[id]?.changes ?? 0 }
  public func replace(_ id: Identifier, with state: Activity, ifChangeCountIs count: UInt64?) -> Activity? {
    let replaced = activities[id]?.replace(with: withDocument(of: id, state), ifChangeCountIs: count)
    if let replaced { observer?.replaced(id, with: replaced) }
    return replaced
  }
  /// The file may have been moved since the state was sent: the activity names it where it is now (R5.2).
  private func withDocument(of id: Identifier, _ state: Activity) -> Activity {
    guard let url = engine?.documentURL(of: id), let entry = try? Activity.documentEntry(url) else { return state }
    var state = state
    // If it does not fit, the next save says so.
    guard (try? state.addUserInfoEntries(entry, limit: Limits.value)) != nil else { return state }
    state.markNeedsSave(false)
    return state
  }
  public func continuation(of id: Identifier) -> Identifier? { activities[id]?.continuedFrom?.continuation }
  public func kept(by continuation: Identifier) -> (activity: Identifier, origin: Identifier)? {
    activities.kept(by: continuation)
  }
  public func answersWillSave(_ id: Identifier) -> Bool {
    hasDidUpdate || activities.delegate(of: id)?.answersWillSave ?? false
  }
  public func handOver(_ source: AttachmentSource) -> (descriptor: PassedDescriptor, changed: UInt64)? {
    environment.handOver(source)
  }
  public func takesStreams(_ id: Identifier) -> Bool { activities.delegate(of: id)?.takesStreams ?? false }
  public func takesRequests(_ id: Identifier) -> Bool { activities.delegate(of: id)?.takesRequests ?? false }
  public func streamEnd(_ id: Identifier) -> StreamStatus { streams[id]?.end ?? .aborted(0) }
}
