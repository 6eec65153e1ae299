import SegueApp
import SegueEngine
import SegueModel

/// An activity of a scripted app, its own or one that it has continued, with what its user does to it.
final class KnownActivity {
  let live: LiveActivity
  /// Text of the user that was not reported to the library; will_save writes it. Nil if there is none.
  var draft: Int?
  /// The number of queued will_save callbacks.
  var queuedSaves = 0
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

  var id: Identifier { live.id }
  /// Nil if the app created it.
  var from: ContinuedFrom? { live.continuedFrom }
  /// Its present state.
  var activity: Activity { live.read { $0 } }
}
