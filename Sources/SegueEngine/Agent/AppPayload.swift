// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The form in which an app gets an activity that it continues without running (R12.2, R13.7).
enum AppPayload {
  /// As it has come.
  case activity
  /// The page alone, and its description; with a URL, a program is started with that.
  case page([UInt8], OfferDescription, url: String?)
  /// A program is started with the document.
  case document(OpenedDocument)

  /// - Parameters:
  ///   - document: the activity, in the form in which its origin has sent it.
  ///   - folders: those of the user.
  /// Throws HANDOFF_FAILED, NOT_ALLOWED, NOT_FOUND if the app gets nothing of it.
  static func of(
    _ activity: Activity, _ document: [UInt8], for start: AgentContinuation, folders: @autoclosure () -> Containers
  ) throws(SegueError) -> AppPayload {
    let contents: Activity.PageContents
    switch start.app.form {
    case .activity: return .activity
    case .page(let kept): contents = kept
    // The URL goes to the place that the state of another browser names (R12.6).
    case .argument: contents = Activity.isBrowsingWeb(start.offer.description.type) ? .browserState : .nothing
    case .document:
      // A file in a folder of the user is another one here.
      let here = try ActivityDocument.decode(
        document, ReferenceReader(folders(), OriginFolders(start.originFolders)), userInfoLimit: Limits.value)
      return .document(try OpenedDocument(here, leavesText: start.leavesText))
    }
    let page = try activity.page(contents)
    // The app was chosen for a page of that site, and none else (R12.1).
    guard WebOrigin.isSame(page.webOrigin, start.offer.description.webOrigin) else {
      throw SegueError(.handoffFailed, "the page is of another site than was offered")
    }
    let description = OfferDescription(page, id: start.offer.description.id)
    return .page(
      try ActivityDocument.encode(page, .none), description, url: start.app.form == .argument ? page.urlAtPlace : nil)
  }
}
