// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Two containers, one inside the other, the inner one by its real path.
private let containers: Containers = {
  var containers = Containers()
  for (identifier, folder, real) in [("a", "/s", "/r"), ("b", "/t", "/s/b")] {
    guard let container = try? Container(identifier: identifier, folder: folder, realFolder: Array(real.utf8)),
      (try? containers.add(container)) != nil
    else { fatalError("a container is refused") }
  }
  return containers
}()

/// Any bytes as an activity document: what was read can be shown, checked, written and read again. With containers,
/// references become URLs inside of them, and those references again.
func fuzzDocuments(_ bytes: UnsafeRawBufferPointer) {
  check(bytes, .none)
  check(bytes, containers)
}

private func check(_ bytes: UnsafeRawBufferPointer, _ containers: Containers) {
  let references = ReferenceReader(containers)
  guard let activity = try? ActivityDocument.decode(bytes, references, userInfoLimit: 1024) else { return }
  require(!activity.needsSave, "a document that was just read needs saving")
  require(references.missing.count <= 8, "too many containers are missing")
  for missing in references.missing { require(containers[missing] == nil, "a container that is here is missing") }
  _ = activity.problems(at: 1_700_000_000, containers)
  _ = activity.isOfferable(at: 1_700_000_000)
  if references.documentURL(of: activity) != nil {
    let url = activity.userInfo?["NSUserActivityDocumentURLKey"]?.url
    require(url.flatMap { containers.place(of: $0) } != nil, "the document that travelled is in no container")
  }
  guard let text = try? ActivityDocument.describe(activity) else { fatalError("what was read cannot be shown") }
  require(text.utf8.starts(with: "55799([1, {".utf8), "it shows as something else")
  // Two spellings of one file are different keys here, and the same key on the way.
  guard let document = try? ActivityDocument.encode(activity, containers) else {
    let said = activity.problems(at: 0, containers).contains { $0.path == "user_info" && $0.status == .invalidArgument }
    return require(said, "a document that was read cannot be written, and nothing says why")
  }
  // The URLs of this device may be longer than those that came.
  guard let again = try? ActivityDocument.decode(document, ReferenceReader(containers), userInfoLimit: Limits.value)
  else {
    fatalError("a document that was written cannot be read")
  }
  require((try? ActivityDocument.encode(again, containers)) == document, "it changes each time")
  require(again.expirationDate == activity.expirationDate, "the expiration date is another")
  require(again.eligibility == activity.eligibility, "the eligibility is another")
}
