// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueFleet

/// Scenarios of the quiescent phase with saves, offers and hubs.
extension CheckedWorkload {
  /// 2 s after the last change, at the latest 10 s after the first, and then never again (R2.2, R2.3).
  func trySaving(_ fixture: Fixture) throws(SegueError) {
    let origin = fixture.origin
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
    let saves = origin.saveCount
    for _ in 0..<9 {
      try change(fixture)
      fleet.advance(1_000)
    }
    expect(origin.saveCount == saves, origin, "R2.2: it is saved although it changes all the time")
    try change(fixture)
    fleet.advance(1_500)
    expect(origin.saveCount == saves + 1, origin, "R2.2: it is not saved 10 s after the first change")
    try change(fixture)
    fleet.advance(1_900)
    // The mark may be set at any time, without a call of the engine (R2.3).
    origin.noteChange(fixture.index)
    fleet.advance(1_900)
    expect(origin.saveCount == saves + 1, origin, "R2.2: it is saved too early")
    fleet.advance(200)
    expect(origin.saveCount == saves + 2, origin, "R2.2: it is not saved 2 s after the last change")
    fleet.advance(20_000)
    expect(origin.saveCount == saves + 2, origin, "R2.2: it is saved, and nothing has changed")
  }

  /// A pull hands over unreported changes, unless the app has declared that nothing needs saving (R2.9).
  func trySavePolicy(_ fixture: Fixture) throws(SegueError) {
    let origin = fixture.origin
    let asks = if case .whenPulled = origin.savePolicy { 1 } else { 0 }
    fleet.advance(2 * Limits().saveDelay)
    var saves = origin.saveCount
    let number = nextNumber()
    try origin.edit(fixture.index, number)
    let pulled = `continue`(fixture)
    expect(fixture, pulled, .continued(isStale: false), .restored)
    expect(
      (history[pulled]?.number == number) == (asks == 1), fixture.viewer, "R2.9: another state than its policy says")
    saves += asks
    expect(origin.saveCount == saves, origin, "R2.9: will_save as often as its policy does not say")
    origin.declareSaved(fixture.index)
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
    expect(origin.saveCount == saves, origin, "R2.9: it has said that nothing needs saving, and is not believed")
    try change(fixture)
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
    saves += 1
    expect(origin.saveCount == saves, origin, "R2.9: it is believed beyond the next change")
    // A receiver that asks during a save gets what was written until then.
    origin.answers.saves = false
    try change(fixture)
    let first = begin(fixture)
    fleet.advance(Self.publishTime)
    let late = nextNumber()
    try origin.edit(fixture.index, late)
    let second = begin(fixture)
    fleet.advance(Self.publishTime)
    expect(fixture, first, .failed(.userCancelled), .failed)
    origin.answers.saves = true
    origin.answer()
    fleet.advance(Self.continuationTime)
    expect(fixture, second, .continued(isStale: false), .restored)
    let isLatest = history[second]?.number == late
    expect(isLatest == (asks == 1), fixture.viewer, "R2.9: it gets what was saved before it asked")
    saves += 1 + asks
    expect(origin.saveCount == saves, origin, "R2.9: will_save as often as its policy does not say")
    origin.setForeground(false)
    fleet.advance(Self.publishTime)
    expect(origin.saveCount == saves + asks, origin, "R2.9: it is not saved when its app leaves")
  }

  /// Changes are published once in 100 ms, and always the last one (R2.8); many cause one will_save (R2.3).
  func tryChanging(_ fixture: Fixture) throws(SegueError) {
    let saves = fixture.origin.saveCount
    _ = events(fixture)
    for _ in 0..<30 {
      try change(fixture)
      fleet.advance(10)
    }
    fleet.advance(Limits.offerUpdate)
    let isTold = Text.isSame(
      fixture.viewer.engine?.offers[fixture.id]?.description.title, fixture.origin.current?.title)
    expect(isTold || !fixture.isOnOneDevice, fixture.viewer, "R2.8: the last change is told too late")
    fleet.advance(Self.publishTime)
    checkOffer(fixture.id, of: fixture.origin)
    let events = events(fixture)
    expect(events.count <= 5, fixture.viewer, "R2.8: more than one change in 100 ms")
    expect(events.allSatisfy { $0 == .changed }, fixture.viewer, "R2.8: it was gone and is back")
    let version = UInt32(truncatingIfNeeded: random.next())
    try fixture.origin.change(fixture.index) { (activity) throws(SegueError) in
      activity.setPayloadVersion(version)
      activity.setSupportsContinuationStreams(true)
    }
    fleet.advance(2_500)
    checkOffer(fixture.id, of: fixture.origin)
    expect(fixture.origin.saveCount - saves <= 1, fixture.origin, "R2.3: more than one will_save")
  }

  /// One current activity per app, the last activated in front (R1.11, R1.12, R1.8).
  func tryActivating(_ fixture: Fixture) throws(SegueError) {
    let (origin, viewer) = (fixture.origin, fixture.viewer)
    let other = random.identifier()
    origin.becomeCurrent(other, try activity())
    fleet.advance(Self.publishTime)
    checkGone(fixture.id)
    checkOffer(other, of: origin)
    origin.becomeCurrent(origin.activityCount - 2)
    fleet.advance(Self.publishTime)
    checkGone(other)
    checkOffer(fixture.id, of: origin)
    let fromViewer = random.identifier()
    viewer.becomeCurrent(fromViewer, try activity())
    fleet.advance(Self.publishTime)
    checkOffer(fromViewer, of: viewer)
    origin.setForeground(true)
    fleet.advance(Self.publishTime)
    checkOffer(fixture.id, of: origin)
    let index = origin.activityCount - 2
    try origin.change(index) { (activity) throws(SegueError) in activity.setEligible(.handoff, false) }
    fleet.advance(Self.publishTime)
    checkGone(fixture.id)
    try origin.change(index) { (activity) throws(SegueError) in activity.setEligible(.handoff, true) }
    fleet.advance(Self.publishTime)
    checkOffer(fixture.id, of: origin)
    origin.setForeground(false)
    origin.resignCurrent(index)
    fleet.advance(Self.publishTime)
    checkGone(fixture.id)
  }

  /// The events of the offer at the viewer since the last call.
  private func events(_ fixture: Fixture) -> [Delivery.OfferEvent] {
    history.takeEvents(of: fixture.viewer).filter { $0.id == fixture.id }.map { $0.event }
  }

  // MARK: Hubs

  /// It resumes through the next hub, under the same name (R3.14), and no app notices the change (R2.8).
  func tryHubDies(_ fixture: Fixture) throws(SegueError) {
    guard fixture.isOnOneDevice, let hub = hubApp(fixture.origin.process.device, fixture) else { return }
    let isMidway = random.chance(0.5)
    if isMidway {
      // More than a window.
      try change(fixture, size: 300_000)
      fleet.advance(Self.publishTime)
    }
    _ = events(fixture)
    fixture.origin.answers.saves = false
    let id = begin(fixture)
    fleet.advance(random.within(0, 200))
    if isMidway {
      // The receiver does not read, so that only a part has arrived when the hub dies.
      fixture.viewer.process.stall()
      fixture.origin.answers.saves = true
      fixture.origin.answer()
      fleet.advance(random.within(1, 50))
    }
    hub.process.kill()
    fixture.viewer.process.resume()
    // Longer than the wait for a hub.
    fleet.advance(2_500)
    fixture.origin.answers.saves = true
    fixture.origin.answer()
    fleet.advance(Self.continuationTime)
    expect(fixture, id, .continued(isStale: false), .restored)
    expect(events(fixture).isEmpty, fixture.viewer, "R2.8: another hub is seen by who sees its offers")
    checkOffer(fixture.id, of: fixture.origin)
  }

  /// A hub that does not answer is replaced in time, however many messages it gets; when it continues it has no effect.
  func tryHubStops(_ fixture: Fixture) throws(SegueError) {
    guard fixture.isOnOneDevice, let hub = hubApp(fixture.origin.process.device, fixture) else { return }
    let generation = fixture.origin.engine?.hubGeneration ?? 0
    hub.process.stall()
    for _ in 0..<12 {
      try change(fixture)
      fleet.advance(100)
    }
    fleet.advance(Self.publishTime)
    for app in [fixture.origin, fixture.viewer] {
      expect(app.engine?.hubGeneration ?? 0 > generation, app, "section 9: a hub that is silent for over 1 s is kept")
    }
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
    hub.process.resume()
    fleet.advance(InvariantChecker.agreementTime)
    checkOffer(fixture.id, of: fixture.origin)
  }

  /// Offers are kept for 3 s without a hub, and continuations wait 2 s for one (R3.14); requests and streams wait
  /// longer.
  func tryWithoutHub(_ fixture: Fixture) {
    let device = fixture.viewer.process.device
    guard let hub = hubApp(device, fixture), let from = continued(fixture) else { return }
    device.admitsHubs = false
    hub.process.kill()
    fleet.advance(100)
    let id = begin(fixture)
    let number = ask(fixture, from, 100)
    fixture.viewer.askStream(random.identifier(), from)
    fleet.advance(1_800)
    expect(history[id]?.callbacks.last == .willContinue, fixture.viewer, "R3.14: it does not wait for the next hub")
    fleet.advance(200)
    expect(fixture, id, .failed(.connectionUnavailable), nil)
    fleet.advance(800)
    expect(fixture.viewer.engine?.offers[fixture.id] != nil, fixture.viewer, "R2.8: a moment without a hub is seen")
    fleet.advance(200)
    expect(fixture.viewer.offers.isEmpty, fixture.viewer, "R2.8: what nobody may offer any more is still seen")
    device.admitsHubs = true
    // It was refused after 0, 1 and 3 s; the next attempt is after 7 s.
    fleet.advance(4_000 + InvariantChecker.agreementTime)
    // Long enough that no app is expected at the next hub any longer.
    expectAnswer(fixture, number, nil, .connectionUnavailable)
    checkOffer(fixture.id, of: fixture.origin)
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
  }

  /// An outcome that the hub lost is sent to the next one (R3.6).
  func tryAnswerWithoutHub(_ fixture: Fixture) {
    guard fixture.isOnOneDevice, let hub = hubApp(fixture.origin.process.device, fixture) else { return }
    fixture.viewer.answers.continues = false
    let id = `continue`(fixture)
    hub.process.kill()
    fleet.advance(random.within(0, 2))
    fixture.viewer.answers.continues = true
    fixture.viewer.answer()
    fleet.advance(Self.continuationTime)
    expect(fixture, id, .continued(isStale: false), .restored)
  }

  /// Why is it not offered there? (R6.5)
  func tryExplaining(_ fixture: Fixture) throws(SegueError) {
    let origin = fixture.origin
    let others = apps.filter { $0.isAlive && $0 !== origin && $0.process.device === origin.process.device }
    let strangers = others.filter { !sees($0, origin) }
    origin.explain(fixture.index)
    fleet.advance(500)
    let isAlone = others.isEmpty && !origin.process.device.links.contains { $0.isUp }
    let count = isAlone ? 1 : strangers.count
    expect(origin.reasons?.count == count, origin, "R6.5: more or fewer reasons than there are")
    if let hub = hubApp(origin.process.device, fixture) {
      origin.explain(fixture.index)
      hub.process.kill()
      fleet.advance(500)
      expect(origin.reasons?.count == 1, origin, "R6.5: the hub went away, and explain was not answered")
      fleet.advance(InvariantChecker.agreementTime)
    }
    try origin.change(fixture.index) { (activity) throws(SegueError) in activity.setEligible(.handoff, false) }
    origin.explain(fixture.index)
    fleet.advance(500)
    expect(origin.reasons?.count == 1, origin, "R6.5: it is not eligible, and there is no reason")
    origin.resignCurrent(fixture.index)
    origin.explain(fixture.index)
    fleet.advance(500)
    expect(origin.reasons?.count == 2, origin, "R6.5: it is not current, and there is no reason")
  }

  /// A silent connection is closed after 5 s (A19).
  func tryMute(_ fixture: Fixture) {
    guard let crowd = ConnectionFlood(1, on: fixture.origin.process.device) else { return }
    fleet.advance(4_900)
    expect(crowd.count == 1, fixture.origin, "A19: who has yet to say hello is ended too early")
    fleet.advance(200)
    expect(crowd.count == 0, fixture.origin, "A19: who says nothing stays connected")
  }

  /// A broken link resumes where it was, without loss or repetition (R7.4).
  func tryCut(_ fixture: Fixture) throws(SegueError) {
    guard !fixture.isOnOneDevice else { return }
    try change(fixture, size: random.below(150_000))
    let number = fixture.origin.current.flatMap { ScriptedApp.number(of: $0) }
    let id = begin(fixture)
    for _ in 0..<3 {
      fleet.advance(random.within(2, 80))
      for link in fixture.origin.process.device.links { link.cut(fleet) }
      fleet.advance(random.within(0, 600))
    }
    fleet.advance(2 * Self.continuationTime)
    // A hub between the two may get the request, or the answer, while it does not see the origin.
    let isLost = history[id]?.callbacks.last == .failed(.connectionUnavailable) || history[id]?.receipt == nil
    if fixture.isDirect || !isLost {
      expect(fixture, id, .continued(isStale: false), .restored)
      expect(history[id]?.number == number, fixture.viewer, "R2.2: it does not get the present state")
    }
    checkOffer(fixture.id, of: fixture.origin)
  }
}
