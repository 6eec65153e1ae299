// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel

/// The callbacks of a scripted app, as a host has them. Each says what the script decides.
final class ScriptedDelegate: AppDelegate {
  /// Nil before the app is scripted, and once it has ended.
  var script: ScriptedApp?

  override func offer(_ app: App, _ event: Int32, _ offer: OfferObject) -> Bool {
    if let event = Delivery.OfferEvent(rawValue: event) { script?.observe(.offer(event, offer.offer.description.id)) }
    return true
  }

  override func connection(_ app: App, isReady: Bool) -> Bool {
    script?.connectionChanged(isReady)
    return true
  }

  override var continues: Bool { true }

  override func willContinue(_ app: App, type: String, _ continuation: Continuation) -> Bool {
    script?.willContinue(continuation)
    script?.expectations.told(continuation.id)
    return true
  }

  override func `continue`(_ app: App, _ activity: LiveActivity, _ continuation: Continuation) -> Reply? {
    script?.expectations.told(continuation.id)
    return script?.continued(activity, continuation) ?? .no
  }

  override var opensDocuments: Bool { script?.opensDocuments ?? false }

  override func openDocument(
    _ app: App, _ url: String, _ activity: LiveActivity, _ continuation: Continuation
  ) -> Reply {
    script?.openDocument(url, continuation) ?? .no
  }

  override func openingFailed(
    _ app: App, type: String, _ error: SharedBox<SegueError>, _ continuation: Continuation
  ) -> Bool {
    script?.expectations.told(continuation.id)
    script?.ended(continuation)
    return script?.hearsFailures ?? true
  }

  override func didFail(_ app: App, type: String, _ error: SharedBox<SegueError>, _ continuation: Continuation) -> Bool
  {
    script?.expectations.told(continuation.id)
    script?.ended(continuation)
    return script?.hearsFailures ?? true
  }

  override var answersDidUpdate: Bool { script?.answersDidUpdate ?? false }

  override func didUpdate(_ app: App, _ activity: LiveActivity) -> Bool {
    script?.updated(activity)
    return true
  }
}

/// The callbacks of all activities of a scripted app.
final class ScriptedActivityDelegate: ActivityDelegate {
  /// Nil before the app is scripted, and once it has ended.
  var script: ScriptedApp?

  override var answersWillSave: Bool { true }
  override func willSave(_ activity: LiveActivity, _ save: PendingSave) -> Reply {
    script?.save(activity, save) ?? .yes
  }

  override func wasContinued(_ activity: LiveActivity, _ receipt: SharedBox<Receipt>) -> Bool {
    script?.wasContinued(activity)
    return true
  }

  override func continuationEnded(_ activity: LiveActivity, _ receipt: SharedBox<Receipt>) -> Bool {
    script?.continuationEnded(activity, receipt.content)
    return true
  }

  override func willResumeBack(_ activity: LiveActivity, hasChanged: Bool, _ request: ResumeBack) -> Reply? {
    script?.willResumeBack(activity, hasChanged: hasChanged, request)
  }

  override func didResumeBack(_ activity: LiveActivity, isStale: Bool) -> Bool { true }

  override var takesStreams: Bool { true }
  override func didReceiveStream(_ activity: LiveActivity, _ stream: LiveStream) -> Bool {
    script?.came(stream)
    return true
  }

  override var takesRequests: Bool { true }
  override func didReceiveRequest(_ activity: LiveActivity, _ request: Request, _ bytes: [UInt8]) -> Bool {
    script?.came(request, bytes)
    return true
  }
}

/// An object that a scripted app restores, or fails to.
final class ScriptedRestorable: Restorable {
  private let isRestored: Bool
  /// If it is the last one of a continuation, that continuation, and its app.
  private var last: (script: ScriptedApp, continuation: Identifier)?

  init(_ isRestored: Bool, _ last: (script: ScriptedApp, continuation: Identifier)?) {
    self.isRestored = isRestored
    self.last = last
  }

  override func restore(_ activity: LiveActivity) -> Bool {
    if let (script, continuation) = last.take() {
      script.noteAnswer(to: continuation, isRestored ? .restored : .failed)
    }
    return isRestored
  }
}

/// A request of a scripted app.
final class ScriptedRequest: Request {
  private var script: ScriptedApp?

  init(_ activity: LiveActivity, of script: ScriptedApp) {
    self.script = script
    super.init(activity)
  }

  override func answered(_ activity: LiveActivity, _ bytes: [UInt8], _ error: SharedBox<SegueError>?) {
    script?.observe(.answered(number, bytes, error?.content.status))
  }

  override func forget() { script = nil }
}

/// A scripted app's request for the state of an activity.
final class ScriptedResumption: ResumeBack {}

/// A question of a scripted app.
final class ScriptedQuestion: ExplainCallback {}

/// A link of a scripted app.
final class ScriptedLink: LiveLink {}

/// A scripted app's request for a stream.
final class ScriptedStreamRequest: StreamRequestCallback {
  private var script: ScriptedApp?
  private let id: Identifier

  init(_ id: Identifier, _ activity: LiveActivity, of script: ScriptedApp) {
    self.id = id
    self.script = script
    super.init(activity)
  }

  override func answered(_ activity: LiveActivity, _ stream: LiveStream?, _ error: SharedBox<SegueError>?) {
    _ = try? stream?.open()
    script?.start(id, error?.content)
    script = nil
  }
}

/// A scripted app waits for the end of a stream.
final class ScriptedStreamWait: StreamEndCallback {
  private var script: ScriptedApp?

  init(_ script: ScriptedApp) { self.script = script }

  override func ended(_ stream: LiveStream, _ status: StreamStatus) {
    script?.end(stream.id, status)
    script = nil
  }
}
