// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel

/// An activity of a scripted app, its own or one that it has continued, with what its user does to it.
final class KnownActivity {
  let live: LiveActivity
  /// Text of the user that was not reported to the library; will_save writes it. Nil if there is none.
  var draft: Int?
  /// The save that is due, or whose answer is awaited; nil if there is none.
  var save: UInt64?
  /// Whether its will_save has begun: what is written from then on belongs to the save (R1.7).
  var isInSave = false
  /// Whether it has changed beside the save.
  var hasChangedBeside = false
  /// Whether its last save has failed, and nothing has changed since: only then it stays unsaved (R2.4).
  var isLeftUnsaved = false
  /// The last number that was written, and the size of the bytes beside it.
  private(set) var last: (number: Int, size: Int?)
  /// The number of its changes by the script.
  var changeCount = 0
  /// The last answer to will_resume_back, with the number of changes then; nil: it was not asked.
  var permission: (mayReplace: Bool, changeCount: Int)?

  init(_ live: LiveActivity) {
    self.live = live
    last = (0, nil)
    note(activity)
  }

  /// Notes what is in a state of the activity.
  func note(_ state: Activity) {
    if let number = ScriptedApp.number(of: state) { last = (number, state.userInfo?["d"]?.data?.count) }
  }

  /// Whether all that its user has written is in it, and not in a save that was given up.
  var hasAll: Bool { draft == nil && save == nil && ScriptedApp.number(of: activity) == last.number }

  var id: Identifier { live.id }
  /// Nil if the app created it.
  var from: ContinuedFrom? { live.continuedFrom }
  /// Its present state.
  var activity: Activity { live.read { $0 } }
}
