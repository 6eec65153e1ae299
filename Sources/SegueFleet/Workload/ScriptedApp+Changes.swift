// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel

/// The activities of a scripted app, each of which holds a number, and the changes of its user.
extension ScriptedApp {
  /// Creates an activity that holds a number, and bytes that identify it.
  static func activity(_ type: String, _ number: Int, size: Int) throws(SegueError) -> Activity {
    var activity = try Activity(type: type)
    try write(number, size: size, to: &activity)
    activity.setSupportsContinuationStreams(number % 4 != 0)
    return activity
  }

  /// Writes a number, and bytes that identify it.
  /// - Parameters:
  ///   - size: nil to keep the size of the bytes.
  ///   - isAll: whether nothing else is in `user_info` afterwards.
  static func write(
    _ number: Int, size: Int? = nil, isAll: Bool = false, to activity: inout Activity
  ) throws(SegueError) {
    let size = size ?? activity.userInfo?["d"]?.data?.count ?? 0
    let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
    try activity.setTitle(Self.title(number))
    let entries = try Value.dictionary([
      (key: .string("d"), value: .data(bytes)), (key: .string("n"), value: .integer(Int64(number))),
    ])
    if isAll {
      try activity.setUserInfo(entries, limit: Limits.value)
    } else {
      try activity.addUserInfoEntries(entries, limit: Limits.value)
    }
  }

  private static func title(_ number: Int) -> String { String(joining: "T\(number)") }

  /// The number of such an activity; nil if its contents have changed.
  static func number(of activity: Activity) -> Int? {
    guard let number = activity.userInfo?["n"]?.int64.map({ Int($0) }), Text.isSame(activity.title, Self.title(number)),
      let bytes = activity.userInfo?["d"]?.data, bytes.allSatisfy({ $0 == UInt8(truncatingIfNeeded: number) })
    else { return nil }
    return number
  }

  /// Adds an activity that a document has got.
  func add(_ known: KnownActivity, _ number: Int) throws(SegueError) {
    activities.add(known)
    try change(known) { (activity) throws(SegueError) in try Self.write(number, size: number % 100, to: &activity) }
  }

  /// Changes one of its own activities.
  func change(_ index: Int, _ change: (inout Activity) throws(SegueError) -> Void) throws(SegueError) {
    try self.change(activities.own[index], change)
  }

  /// Changes an activity, and reports that to the library.
  func change(
    _ known: KnownActivity, _ change: (inout Activity) throws(SegueError) -> Void
  ) throws(SegueError) {
    let former = Self.number(of: known.activity)
    known.changeCount += 1
    try known.live.update(change)
    if !known.isInSave { noteDirty(known) }
    let state = known.activity
    if Self.number(of: state) != former { known.draft = nil }
    known.note(state)
    observe(known, in: state)
    process.does("changes", state.title)
  }

  /// Its user writes, and the app does not report it, not even by `needs_save` (R2.9).
  func edit(_ index: Int, _ number: Int) throws(SegueError) { try edit(activities.own[index], number) }

  /// Writes into one of its own activities, or one that it keeps.
  func edit(_ known: KnownActivity, _ number: Int) throws(SegueError) {
    known.draft = number
    process.does("edits", Self.title(number))
    // A save is not asked for while the app calls its activity saved (R2.9).
    guard case .whenPulled = savePolicy, !known.live.read({ $0.isDeclaredSaved }) else { return }
    var written = known.activity
    try Self.write(number, to: &written)
    observe(known, in: written)
  }

  private func observe(_ known: KnownActivity, in state: Activity) {
    if let from = known.from { observe(.kept(from, state)) } else { observe(.activity(known.id, state)) }
  }

  /// Declares its activity up to date (R2.9): what its user has written was reported.
  func declareSaved(_ index: Int) {
    let known = activities.own[index]
    known.hasChangedBeside = false
    if known.live.setNeedsSave(false) { known.live.tellApp() }
  }

  /// Changes without telling the engine (R2.3).
  func noteChange(_ index: Int) {
    let known = activities.own[index]
    noteDirty(known)
    if known.live.setNeedsSave(true) { known.live.tellApp() }
  }
}
