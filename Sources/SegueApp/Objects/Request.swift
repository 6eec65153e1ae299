// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// A request, as the host holds it (R7.5): its own, which it can cancel, or another app's, which it has to answer.
open class Request: HandleObject {
  final let activity: LiveActivity
  /// Whether it is another app's request.
  private let isToAnswer: Bool
  private let lock = Lock()
  /// The engine's number; 0 if it was not sent yet. Written once, with the app's lock.
  public private(set) final var number: UInt64
  private var isAnswered = false

  /// Creates a request to send; with a number, one to answer.
  public init(_ activity: LiveActivity, toAnswer number: UInt64? = nil) {
    self.activity = activity
    self.number = number ?? 0
    isToAnswer = number != nil
  }

  final func answered(_ bytes: [UInt8], _ error: SegueError?) {
    answered(activity, bytes, error.map { SharedBox($0) })
    forget()
  }

  /// Called once, without locks.
  open func answered(_ activity: LiveActivity, _ bytes: [UInt8], _ error: SharedBox<SegueError>?) {}

  /// It has ended: releases the host's context, however long the host keeps the handle.
  open func forget() {}

  // MARK: For the host

  /// Sends the request to the origin. Throws INVALID_STATE, INVALIDATED, LIMIT_EXCEEDED.
  /// - Parameter timeout: milliseconds; nil for the limit of a continuation.
  public final func ask(_ bytes: [UInt8], timeout: Int64?) throws(SegueError) {
    guard let app = activity.app, let from = activity.continuedFrom else {
      throw SegueError(.invalidState, "activity: was not continued, so it has no origin to ask")
    }
    guard activity.isStillValid else { throw SegueError(.invalidated, "activity: was invalidated") }
    try app.ask(self, bytes, from, timeout: timeout)
  }

  final func begin(_ number: UInt64) { self.number = number }

  /// Throws INVALID_STATE if it is another app's.
  open func cancel() throws(SegueError) {
    guard !isToAnswer else { throw SegueError(.invalidState, "request: of another app; respond or refuse") }
    activity.app?.performIfOpen { engine, _ in engine.cancelRequest(number) }
  }

  /// Throws INVALID_STATE if it is this app's own, or the second time; LIMIT_EXCEEDED, after which it still needs an
  /// answer.
  public final func respond(_ bytes: [UInt8]) throws(SegueError) {
    try activity.app?.checkRequest(bytes.count, "the answer")
    try beginAnswering()
    activity.app?.performIfOpen { engine, now in engine.respond(to: number, bytes, now) }
  }

  /// Throws INVALID_STATE if it is this app's own, or the second time.
  public final func refuse(_ reason: String) throws(SegueError) {
    try beginAnswering()
    refuse(SegueError(.declined, DiagnosticText(of: reason)))
  }

  /// Answers will_resume_back. Throws INVALID_STATE if it is not to be answered.
  open func complete(_ answer: Bool) throws(SegueError) {
    throw SegueError(.invalidState, "request: is not one of segue_activity_resume_back")
  }

  public override func lastHandleReleased() { giveUp() }

  /// The last handle that could answer was released.
  final func giveUp() {
    guard isToAnswer, takeAnswer() else { return }
    refuse(SegueError(.handoffFailed, "the origin did not answer"))
  }

  private func refuse(_ error: SegueError) {
    activity.app?.performIfOpen { engine, _ in engine.refuseRequest(number, error) }
  }

  private func beginAnswering() throws(SegueError) {
    guard isToAnswer else { throw SegueError(.invalidState, "request: of this app, which cannot answer it itself") }
    guard takeAnswer() else { throw SegueError(.invalidState, "request: was answered already") }
  }

  /// - Returns: false if it was answered before.
  private final func takeAnswer() -> Bool {
    lock.withLock {
      defer { isAnswered = true }
      return !isAnswered
    }
  }
}
