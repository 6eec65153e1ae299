import SegueModel
import SegueWire

/// Any bytes as an activity document: what was read can be shown, checked, written and read again.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
  guard let activity = try? ActivityDocument.decode(bytes, userInfoLimit: 1024) else { return }
  require(!activity.needsSave, "a document that was just read needs saving")
  _ = activity.problems(at: 1_700_000_000)
  _ = activity.isOfferable(at: 1_700_000_000)
  guard let document = try? ActivityDocument.encode(activity), let text = try? ActivityDocument.describe(activity)
  else { fatalError("a document that was read cannot be written") }
  require(text.utf8.starts(with: "55799([1, {".utf8), "it shows as something else")
  guard let again = try? ActivityDocument.decode(document, userInfoLimit: 1024) else {
    fatalError("a document that was written cannot be read")
  }
  require((try? ActivityDocument.encode(again)) == document, "it changes each time")
  require(again.expirationDate == activity.expirationDate, "the expiration date is another")
  require(again.eligibility == activity.eligibility, "the eligibility is another")
}
