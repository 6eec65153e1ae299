import SegueEngine
import SegueModel

/// An activity of a scripted app: its own, or one that it has continued.
final class KnownActivity {
  let id: Identifier
  /// Nil if the app created it.
  let from: ContinuedFrom?
  var activity: Activity
  var changedAt: Int64 { didSet { changeCount += 1 } }
  private(set) var changeCount: UInt64 = 0
  /// The number of pending will_save callbacks.
  var saves = 0
  /// Text of the user that was not reported to the library; will_save writes it. Nil if there is none.
  var draft: Int?

  init(_ id: Identifier, _ activity: Activity, _ changedAt: Int64, from: ContinuedFrom? = nil) {
    self.id = id
    self.activity = activity
    self.changedAt = changedAt
    self.from = from
  }
}
