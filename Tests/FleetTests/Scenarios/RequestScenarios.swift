// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

@testable import SegueFleet

/// Scenarios of the quiescent phase with requests (R7.5).
extension CheckedWorkload {
  /// Many requests of many sizes are in progress while links break: each gets its own answer.
  func tryRequesting(_ fixture: Fixture) throws(SegueError) {
    guard let from = continued(fixture) else { return }
    try fleet.network.setDelay(5, 40)
    let sizes = [0, 1, 100, 70_000, 300_000, Limits().request]
    let numbers = (0..<random.within(1, 6)).map { _ in ask(fixture, from, sizes[random.below(sizes.count)]) }
    for _ in 0..<3 {
      fleet.advance(random.within(1, 100))
      for link in fixture.origin.process.device.links { link.cut(fleet) }
      fleet.advance(random.within(0, 600))
    }
    fleet.advance(2 * Self.continuationTime)
    for number in numbers { expectAnswer(fixture, number, nil, .connectionUnavailable) }
  }

  /// Both sides refuse requests and answers above the limit, and check the announced size.
  func tryTooLarge(_ fixture: Fixture) throws(SegueError) {
    guard let from = continued(fixture) else { return }
    let tooLarge = ask(fixture, from, Limits().request + 1)
    fleet.advance(Self.continuationTime)
    expectAnswer(fixture, tooLarge, .limitExceeded)
    fixture.origin.answers.continues = false
    defer { answerHeld(fixture.origin) }
    for (announced, sent, error) in [
      (Limits().request + 1, 10, Status.limitExceeded), (10, 9, .handoffFailed), (10, 11, .handoffFailed),
    ] {
      let number = ask(fixture, from, 100)
      fleet.advance(Self.publishTime)
      try fixture.origin.answerFalsely(number, from, to: fixture.viewer.identity.id, announced: announced, sent: sent)
      fleet.advance(Self.publishTime)
      expectAnswer(fixture, number, error)
    }
  }

  /// A request ends at its deadline, when it is cancelled, or when no app is left to answer it.
  func tryUnanswered(_ fixture: Fixture) throws(SegueError) {
    let (origin, viewer) = (fixture.origin, fixture.viewer)
    guard let from = continued(fixture) else { return }
    origin.answers.continues = false
    defer { answerHeld(origin) }
    let late = ask(fixture, from, 100, timeout: 2_000)
    let cancelled = ask(fixture, from, 100_000)
    let number = ask(fixture, from, 70_000)
    fleet.advance(500)
    viewer.perform { engine, _ in engine.cancelRequest(cancelled) }
    fleet.advance(1_400)
    expectAnswer(fixture, cancelled, .userCancelled)
    expect(!hasEnded(fixture, late), viewer, "R7.5: a request ends before its deadline")
    fleet.advance(200)
    expectAnswer(fixture, late, .remoteApplicationTimedOut)
    expect(!hasEnded(fixture, number), viewer, "R7.5: a request ends before its deadline")
    let hadHub = origin.process.hub != nil
    switch random.below(4) {
    case 0:
      origin.invalidate(fixture.index)
      fleet.advance(Self.publishTime)
      return expectAnswer(fixture, number, .handoffFailed)
    case 1:
      guard fixture.isOnOneDevice, let hub = hubApp(origin.process.device, fixture) else { break }
      hub.process.kill()
      fleet.advance(Self.publishTime)
      return expectAnswer(fixture, number, .connectionUnavailable)
    case 2: origin.process.kill()
    default: origin.close()
    }
    guard origin.isAlive else {
      // Whether another device comes back is unknown.
      fleet.advance(hadHub ? Limits().continuation : Self.publishTime)
      return expectAnswer(fixture, number, .connectionUnavailable, hadHub ? .remoteApplicationTimedOut : nil)
    }
    // Answers without a waiting request are dropped.
    answerHeld(origin)
    fleet.advance(Self.continuationTime)
    expectAnswer(fixture, number, nil)
  }

  /// Requests at a lost hub fail, since their answers are unknown; later ones go to the next hub, once the origin is
  /// there, too.
  func tryRequestHubDies(_ fixture: Fixture) throws(SegueError) {
    guard let hub = hubApp(fixture.origin.process.device, fixture), let from = continued(fixture) else { return }
    fixture.origin.answers.continues = false
    let numbers = [100, 300_000].map { ask(fixture, from, $0) }
    fleet.advance(random.within(0, 20))
    hub.process.kill()
    var next: [UInt64] = []
    for _ in 0..<5 {
      // First until that is known.
      fleet.advance(1)
      next.append(ask(fixture, from, 100))
    }
    fleet.advance(Self.publishTime)
    for number in numbers { expectAnswer(fixture, number, .connectionUnavailable) }
    answerHeld(fixture.origin)
    fleet.advance(Self.publishTime)
    for number in next { expectAnswer(fixture, number, nil) }
  }

  // MARK: Steps

  /// Continues the activity. Nil if the fleet was not quiescent, which the workload has reported.
  func continued(_ fixture: Fixture) -> ContinuedFrom? {
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
    guard let from = fixture.viewer.lastContinued, from.offer.description.id == fixture.id else { return nil }
    return from
  }

  func ask(_ fixture: Fixture, _ from: ContinuedFrom, _ size: Int, timeout: Int64? = nil) -> UInt64 {
    let byte = UInt8(truncatingIfNeeded: random.next())
    return fixture.viewer.request([UInt8](repeating: byte, count: size), from, timeout: timeout)
  }

  /// Lets an app answer again, whatever has become of the requests.
  func answerHeld(_ app: ScriptedApp) {
    app.answers.continues = true
    app.answer()
  }

  private func asked(_ fixture: Fixture, _ number: UInt64) -> Asked? {
    history.asked(number, by: fixture.viewer)
  }

  private func hasEnded(_ fixture: Fixture, _ number: UInt64) -> Bool { asked(fixture, number)?.hasEnded ?? false }

  /// - Parameter error: nil if it was answered.
  func expectAnswer(_ fixture: Fixture, _ number: UInt64, _ error: Status?, _ other: Status? = nil) {
    guard let asked = asked(fixture, number), asked.hasEnded else {
      return expect(false, fixture.viewer, "R7.5: a request does not end when it is due")
    }
    let isRight = asked.error == error || other != nil && asked.error == other
    expect(isRight, fixture.viewer, "R7.5: a request has another end than is due")
  }
}

extension ScriptedApp {
  /// Answers a request falsely, bypassing its engine, which never would.
  func answerFalsely(
    _ number: UInt64, _ from: ContinuedFrom, to requester: Identifier, announced: Int, sent: Int
  ) throws(SegueError) {
    guard let link = engine?.link else { return }
    let continuation = Message.Continuation(
      id: from.continuation, origin: identity.id, activity: from.offer.description.id)
    let channel = link.open()
    link.send(
      try Message.response(
        number, continuation, to: requester, channel: channel, size: UInt64(announced), nil
      ).encoded())
    link.write([UInt8](repeating: 0, count: sent)[...], to: channel)
    link.finish(channel)
    perform { _, _ in }
  }
}
