import SegueEngine
import SegueModel
import SegueWire

/// Scenarios of the quiescent phase with requests (R7.5).
extension Story {
  /// Many requests of many sizes are in progress while links break: each gets its own answer.
  mutating func tryRequesting(_ scene: Scene) throws(SegueError) {
    guard let from = continued(scene) else { return }
    try fleet.network.setDelay(5, 40)
    let sizes = [0, 1, 100, 70_000, 300_000, Limits().request]
    let numbers = (0..<random.within(1, 6)).map { _ in ask(scene, from, sizes[random.below(sizes.count)]) }
    for _ in 0..<3 {
      fleet.advance(random.within(1, 100))
      for link in scene.origin.process.device.links { link.cut(fleet) }
      fleet.advance(random.within(0, 600))
    }
    fleet.advance(2 * Self.continuedTime)
    for number in numbers { expectAnswer(scene, number, nil, .connectionUnavailable) }
  }

  /// Both sides refuse requests and answers above the limit, and check the announced size.
  mutating func tryTooLarge(_ scene: Scene) throws(SegueError) {
    guard let from = continued(scene) else { return }
    let tooLarge = ask(scene, from, Limits().request + 1)
    fleet.advance(Self.continuedTime)
    expectAnswer(scene, tooLarge, .limitExceeded)
    witness?.hold(requestsOf: scene.origin)
    defer { witness?.release(scene.origin) }
    for (announced, sent, error) in [
      (Limits().request + 1, 10, Status.limitExceeded), (10, 9, .handoffFailed), (10, 11, .handoffFailed),
    ] {
      let number = ask(scene, from, 100)
      fleet.advance(Self.toldTime)
      try scene.origin.answerFalsely(number, from, to: scene.viewer.identity.id, announced: announced, sent: sent)
      fleet.advance(Self.toldTime)
      expectAnswer(scene, number, error)
    }
  }

  /// A request ends at its deadline, when it is cancelled, or when no app is left to answer it.
  mutating func tryUnanswered(_ scene: Scene) throws(SegueError) {
    let (origin, viewer) = (scene.origin, scene.viewer)
    guard let from = continued(scene) else { return }
    witness?.hold(requestsOf: origin)
    defer { witness?.release(origin) }
    let late = ask(scene, from, 100, timeout: 2_000)
    let cancelled = ask(scene, from, 100_000)
    let number = ask(scene, from, 70_000)
    fleet.advance(500)
    viewer.tell { engine, _ in engine.cancelRequest(cancelled) }
    fleet.advance(1_400)
    expectAnswer(scene, cancelled, .userCancelled)
    claim(!hasEnded(scene, late), viewer, "R7.5: a request ends before its deadline")
    fleet.advance(200)
    expectAnswer(scene, late, .remoteApplicationTimedOut)
    claim(!hasEnded(scene, number), viewer, "R7.5: a request ends before its deadline")
    let hadHub = origin.process.hub != nil
    switch random.below(4) {
    case 0:
      origin.invalidate(scene.index)
      fleet.advance(Self.toldTime)
      return expectAnswer(scene, number, .handoffFailed)
    case 1:
      guard scene.isOnOneDevice, let hub = hubApp(origin.process.device, scene) else { break }
      hub.process.kill()
      fleet.advance(Self.toldTime)
      return expectAnswer(scene, number, .connectionUnavailable)
    case 2: origin.process.kill()
    default: origin.close()
    }
    guard origin.isAlive else {
      // Whether another device comes back is unknown.
      fleet.advance(hadHub ? Limits().continuation : Self.toldTime)
      return expectAnswer(scene, number, .connectionUnavailable, hadHub ? .remoteApplicationTimedOut : nil)
    }
    // Answers without a waiting request are dropped.
    witness?.release(origin)
    fleet.advance(Self.continuedTime)
    expectAnswer(scene, number, nil)
  }

  /// Requests at a lost hub fail, since their answers are unknown; later ones go to the next hub, once the origin is
  /// there, too.
  mutating func tryRequestHubDies(_ scene: Scene) throws(SegueError) {
    guard let hub = hubApp(scene.origin.process.device, scene), let from = continued(scene) else { return }
    witness?.hold(requestsOf: scene.origin)
    let numbers = [100, 300_000].map { ask(scene, from, $0) }
    fleet.advance(random.within(0, 20))
    hub.process.kill()
    var next: [UInt64] = []
    for _ in 0..<5 {
      // First until that is known.
      fleet.advance(1)
      next.append(ask(scene, from, 100))
    }
    fleet.advance(Self.toldTime)
    for number in numbers { expectAnswer(scene, number, .connectionUnavailable) }
    witness?.release(scene.origin)
    fleet.advance(Self.toldTime)
    for number in next { expectAnswer(scene, number, nil) }
  }

  // MARK: Steps

  /// Continues the activity. Nil if the fleet was not quiescent, which the story has reported.
  mutating func continued(_ scene: Scene) -> ContinuedFrom? {
    expect(scene, `continue`(scene), .continued(isStale: false), .restored)
    guard let from = scene.viewer.lastContinued, from.offer.description.id == scene.id else { return nil }
    return from
  }

  mutating func ask(_ scene: Scene, _ from: ContinuedFrom, _ size: Int, timeout: Int64? = nil) -> UInt64 {
    let byte = UInt8(truncatingIfNeeded: random.next())
    return scene.viewer.request([UInt8](repeating: byte, count: size), from, timeout: timeout)
  }

  private func asked(_ scene: Scene, _ number: UInt64) -> Asked? {
    witness?.asked(number, by: scene.viewer)
  }

  private func hasEnded(_ scene: Scene, _ number: UInt64) -> Bool { asked(scene, number)?.hasEnded ?? false }

  /// - Parameter error: nil if it was answered.
  func expectAnswer(_ scene: Scene, _ number: UInt64, _ error: Status?, _ other: Status? = nil) {
    guard let asked = asked(scene, number), asked.hasEnded else {
      return claim(false, scene.viewer, "R7.5: a request does not end when it is due")
    }
    let isRight = asked.error == error || other != nil && asked.error == other
    claim(isRight, scene.viewer, "R7.5: a request has another end than is due")
  }
}
