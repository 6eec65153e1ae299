// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel

/// The callbacks of a scripted app, and how it answers them.
extension ScriptedApp {
  /// Answers everything that is unanswered.
  func answer() {
    let all = unanswered.take()
    for (_, save) in all.saves { answer(save) }
    for continuation in all.continuations { answer(continuation) }
    for (request, bytes) in all.requests { try? request.respond(bytes) }
  }

  private func answer(_ continuation: Continuation) {
    continuations.removeAll { $0 === continuation }
    let activity = activities.kept.first { $0.from?.continuation == continuation.id }?.live
    guard answers.handles else {
      // The document that an activity names is opened (R3.5).
      if activity?.read({ $0.documentURL }) == nil {
        noteAnswer(to: continuation.id, .declined)
      } else if let activity, !app.mayOpenDocument(of: activity) {
        noteAnswer(to: continuation.id, .failed)
      }
      complete(continuation, handled: false)
      return
    }
    // Objects that are restored later, or none.
    if !answers.restores || continuation.id.bytes[0] & 1 == 0 {
      let own = ScriptedRestorable(answers.restores, (self, continuation.id))
      let objects: [Restorable] = [ScriptedRestorable(true, nil), own]
      try? continuation.restore(objects)
    } else {
      noteAnswer(to: continuation.id, .restored)
    }
    complete(continuation, handled: true)
    // Its user cancels too late: objects are being restored (R3.3).
    if continuation.id.bytes[3] & 3 == 0 { continuation.cancel() }
  }

  private func complete(_ continuation: Continuation, handled: Bool) {
    guard (try? continuation.complete(handled: handled)) != nil, !continuation.opensDocument else { return }
    process.obligations.answered(continuation.id)
  }

  /// The app answers a continuation now, unless its time is over, and the engine has answered.
  func noteAnswer(to continuation: Identifier, _ outcome: Outcome) {
    if engine?.isAwaited(continuation) ?? false { observe(.answers(continuation, outcome)) }
  }

  // MARK: Callbacks

  func connectionChanged(_ isReady: Bool) {
    if isReady == self.isReady { process.complain("section 9: it is told again how its connection is") }
    self.isReady = isReady
  }

  func willContinue(_ continuation: Continuation) {
    if !continuations.contains(where: { $0 === continuation }) { continuations.append(continuation) }
    guard answers.declines else { return }
    observe(.answers(continuation.id, .declined))
    try? continuation.decline("not now")
  }

  func continued(_ activity: LiveActivity, _ continuation: Continuation) -> Reply {
    guard let from = activity.continuedFrom else { return .no }
    keep(activity, from)
    request(from)
    askStream(from)
    if answers.continues { answer(continuation) } else { unanswered.add(continuation) }
    return .later
  }

  /// It has failed.
  func ended(_ continuation: Continuation) {
    continuations.removeAll { $0 === continuation }
    unanswered.remove(continuation)
  }

  func wasContinued(_ activity: LiveActivity) {
    if answers.moves, let index = activities.own.firstIndex(where: { $0.live === activity }) { invalidate(index) }
  }

  func continuationEnded(_ activity: LiveActivity, _ receipt: Receipt) {
    expectations.told(receipt.continuation)
    observe(.receipt(receipt, of: activity.id))
  }

  func came(_ request: Request, _ bytes: [UInt8]) {
    if answers.continues { try? request.respond(bytes) } else { unanswered.add(request, bytes) }
  }
}
