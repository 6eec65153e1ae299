// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel

/// The results that the callbacks of an app must lead to before the next one runs.
struct ScriptedExpectations {
  /// The continuation about which a callback must run.
  fileprivate(set) var callback: Identifier?
  /// The activity that was left alone, and whether a responder had it again.
  fileprivate(set) var orphaned: (activity: KnownActivity, isHeld: Bool)?
  /// The responders that a save asks (R4.2), and those that it has asked.
  fileprivate(set) var save: (activity: Identifier, plan: [UInt64], asked: [UInt64])?

  /// A callback about a continuation has run.
  mutating func told(_ continuation: Identifier) { if callback == continuation { callback = nil } }
}

/// Checks of a scripted app.
extension ScriptedApp {
  func expect(_ delivery: Delivery) {
    switch delivery {
    case .continuationEnded(_, let receipt): expectations.callback = receipt.continuation
    case .orphaned(let id):
      guard let known = known(id), known.live.isStillValid else { break }
      expectations.orphaned = (known, isHeld(id))
    default: break
    }
  }

  func expect(_ step: ContinuationStep, of id: Identifier) {
    switch step {
    case .willContinue, .continue, .openingFailed: expectations.callback = id
    case .didFail: if !process.obligations.isResumed(id) { expectations.callback = id }
    case .willResumeBack, .resumedBack: break
    }
  }

  /// Callbacks have run: checks what they had to lead to.
  func callbacksHaveRun() {
    if expectations.callback.take() != nil {
      process.complain("R3.2, R3.6: a continuation moves on, or has ended, and the host is not told")
    }
    if let (known, isHeld) = expectations.orphaned.take(), known.live.isStillValid != isHeld {
      process.complain("R4.4: an activity ends if, and only if, no responder has it at its turn")
    }
    if let save = expectations.save.take(), save.plan != save.asked {
      process.complain("R4.2: a save asks others than the responders of the activity, or in another order")
    }
    dropInvalid()
  }

  /// Some activities end with what has them.
  func dropInvalid() { for known in activities.all where !known.live.isStillValid { drop(known.id) } }

  // MARK: Saves

  func save(_ activity: LiveActivity, _ save: PendingSave) -> Reply {
    guard let known = known(activity.id) else { return .yes }
    known.isInSave = known.save != nil
    if let number = answers.numberOnSave ?? known.draft {
      write(number, known)
    } else if Self.number(of: known.activity) != known.last.number {
      // A save that was given up has forgotten what it had written, and one that asks responders begins with nothing.
      write(known.last.number, known)
    }
    expectations.save = (known.id, responders.plan(for: known.id), [])
    return reply(to: save, of: known.id)
  }

  /// A save asks a responder.
  func update(_ activity: LiveActivity, _ save: PendingSave, _ responder: UInt64) -> Reply {
    guard let known = known(activity.id) else { return .yes }
    if let save = expectations.save, save.asked.isEmpty { checkNamesDocument(known) }
    expectations.save?.asked.append(responder)
    write(known.last.number, known)
    return reply(to: save, of: known.id)
  }

  func updated(_ activity: LiveActivity) {}

  private func write(_ number: Int, _ known: KnownActivity) {
    // Half of them drop the URL of the document, too: the library puts it back (R4.2).
    let isAll = number % 2 == 0 && hasDocument(known.id)
    // A title with digits, and bytes of the same size as before, always fit.
    try? change(known) { (activity) throws(SegueError) in
      try Self.write(number, size: known.last.size, isAll: isAll, to: &activity)
    }
  }

  /// The activity of a document names it, whatever the save has written.
  private func checkNamesDocument(_ known: KnownActivity) {
    guard let url = engine?.documentURL(of: known.id), !Text.isSame(url, known.activity.documentURL) else { return }
    process.complain("R4.2: a save has replaced user_info, and the activity has lost its document")
  }

  private func reply(to save: PendingSave, of activity: Identifier) -> Reply {
    if answers.failsSaves, answers.saves {
      // No other responder is asked.
      expectations.save = nil
      answer(save)
      return .later
    }
    guard answers.saves else {
      unanswered.add(save, of: activity)
      // The rest is asked later.
      expectations.save = nil
      return .later
    }
    return .yes
  }

  /// Answers a save later. It may have been given up.
  func answer(_ save: PendingSave) {
    if answers.failsSaves { try? save.fail("out of order") } else { try? save.complete() }
  }

  /// A save of an activity is due.
  func began(_ number: UInt64, of known: KnownActivity) {
    known.save = number
    known.isInSave = false
    known.hasChangedBeside = false
  }

  /// An activity has changed, or is said to need saving, and not by its save.
  func noteDirty(_ known: KnownActivity) {
    known.isLeftUnsaved = false
    known.hasChangedBeside = true
  }

  /// After each call of the engine: what is current and unsaved is saved in time, whatever has become of earlier saves
  /// (R2.2, R2.4).
  func checkSaves() {
    guard let engine, app.isOpen else { return }
    for known in activities.own { noteEnd(of: known, engine) }
    for known in activities.kept { noteEnd(of: known, engine) }
    guard let id = engine.currentActivity, let known = known(id), known.save == nil, !known.isLeftUnsaved,
      known.live.needsSave, isAnswered(known)
    else { return unsaved = nil }
    let now = process.now.uptime
    guard let unsaved, unsaved.activity === known else { return unsaved = (known, now) }
    guard now - max(unsaved.since, process.resumedAt) > engine.limits.saveLatest + ObligationTracker.slack else {
      return
    }
    self.unsaved = (known, now)
    process.complain("R2.2, R2.4: it is current and has changed, and is not saved")
  }

  private func noteEnd(of known: KnownActivity, _ engine: AppEngine) {
    guard let save = known.save, !engine.isSaving(save) else { return }
    known.save = nil
    known.isInSave = false
    // An activity that needs saving after its save, and has not changed beside that, was not saved.
    known.isLeftUnsaved = known.live.needsSave && !known.hasChangedBeside
    if !known.live.needsSave, known.live.isStillValid { checkNamesDocument(known) }
  }

  /// Whether a responder has an activity, or a document.
  private func isHeld(_ id: Identifier) -> Bool {
    responders.all.contains { $0.activity == id } || hasDocument(id)
  }

  private func hasDocument(_ id: Identifier) -> Bool {
    documents.contains { app.activity(of: $0.live.responder)?.id == id }
  }
}
