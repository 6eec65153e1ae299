// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel

/// A document that a scripted app has open (R5).
struct ScriptedDocument {
  static let limit = 2
  /// The content type and role of all documents.
  static var kind: String { AppSettings.documentKind(0, "text/plain") }

  let live: LiveDocument
  var url: String
  /// The activity that it has let go of, as it left its container.
  var left: Identifier?
}

/// The responder of a document, which is restored from the continuation for which it was opened (R3.5).
private final class ScriptedDocumentResponder: LiveResponder {
  /// Nil: the user has opened it.
  private var opening: (script: ScriptedApp, continuation: Identifier)?

  init(of script: ScriptedApp, for continuation: Identifier?) {
    opening = continuation.map { (script, $0) }
    super.init(of: script.app)
  }

  override var restores: Bool { opening != nil }

  override func restore(_ activity: LiveActivity) -> Bool {
    if let (script, continuation) = opening.take() { script.noteAnswer(to: continuation, .restored) }
    return true
  }

  override func destroy() { opening = nil }
}

/// The documents of a scripted app: inside a container they have activities (R5.2), and what names one opens it (R3.5).
extension ScriptedApp {
  /// - Parameter number: names the file, and is what its activity holds.
  func openDocument(_ number: Int) throws(SegueError) {
    process.does("opens a document")
    try add(ScriptedDocumentResponder(of: self, for: nil), String(joining: "file:///docs/d\(number)"), number)
  }

  private func add(_ responder: LiveResponder, _ url: String, _ number: Int?) throws(SegueError) {
    if documents.count == ScriptedDocument.limit { closeDocument(0) }
    let live = LiveDocument(responder, url, ScriptedDocument.kind)
    try app.add(live)
    documents.append(ScriptedDocument(live: live, url: url))
    if let number { try adopt(live, number) }
  }

  /// A document may have got an activity by itself.
  private func adopt(_ document: LiveDocument, _ number: Int) throws(SegueError) {
    guard let activity = app.activity(of: document.responder), known(activity.id) == nil else { return }
    if activities.isFull { invalidate(0) }
    try add(KnownActivity(activity), number)
  }

  /// The file is moved out of the container, or back.
  func moveDocument(_ index: Int, isInside: Bool, _ number: Int) throws(SegueError) {
    let live = documents[index].live
    process.does("moves a document")
    let formerID = app.activity(of: live.responder)?.id
    let former = formerID.flatMap { known($0) }
    let url = String(joining: isInside ? "file:///docs/d\(number)" : "file:///elsewhere/d\(number)")
    documents[index].url = url
    try app.setURL(url, of: live)
    followMove(index, from: formerID)
    if let former, former.live.isStillValid {
      // Another state, and so another number.
      try change(former) { (activity) throws(SegueError) in try Self.write(number, to: &activity) }
    }
    try adopt(live, number)
  }

  /// On its return a document gets a new activity, and so do the responders that still have the old one (R5.2).
  private func followMove(_ index: Int, from former: Identifier?) {
    let present = app.activity(of: documents[index].live.responder)?.id
    if let former, present == nil { documents[index].left = former }
    if former == nil, let present, let left = documents[index].left.take() { responders.move(left, to: present) }
  }

  /// Its user turns to a document.
  func makeDocumentCurrent(_ index: Int) {
    guard index < documents.count, let activity = app.activity(of: documents[index].live.responder) else { return }
    process.does("becomes current", "a document")
    try? activity.becomeCurrent()
  }

  func closeDocument(_ index: Int) {
    process.does("closes a document")
    let live = documents[index].live
    documents.remove(at: index)
    app.close(live)
    dropInvalid()
  }

  /// A state that has come back names the document of its activity where it is now (R5.2).
  func checkDocument(of id: Identifier, in state: Activity) {
    let owners = documents.filter { app.activity(of: $0.live.responder)?.id == id }
    guard !owners.isEmpty, !owners.contains(where: { Text.isSame($0.url, state.documentURL) }) else { return }
    process.complain("R5.2: a state that comes back names the file where it was")
  }

  func closeDocuments() { while !documents.isEmpty { closeDocument(documents.count - 1) } }

  /// Opens the document of what it has continued and not handled (R3.5).
  func openDocument(_ url: String, _ continuation: Continuation) -> Reply {
    guard continuation.id.bytes[2] & 3 != 0 else {
      noteAnswer(to: continuation.id, .failed)
      return .no
    }
    process.does("opens the document of an activity")
    do throws(SegueError) {
      try add(ScriptedDocumentResponder(of: self, for: continuation.id), url, nil)
      if let live = documents.last?.live { try continuation.completeOpening(live, nil) }
      return .later
    } catch {
      return .no
    }
  }
}
