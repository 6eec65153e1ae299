import SegueEngine
import SegueModel

/// Scenarios of the quiescent phase with saves, offers and hubs.
extension Story {
  /// 2 s after the last change, at the latest 10 s after the first, and then never again (R2.2, R2.3).
  mutating func trySaving(_ scene: Scene) throws(SegueError) {
    let origin = scene.origin
    expect(scene, `continue`(scene), .continued(isStale: false), .restored)
    let saves = origin.saveCount
    for _ in 0..<9 {
      try change(scene)
      fleet.advance(1_000)
    }
    claim(origin.saveCount == saves, origin, "R2.2: it is saved although it changes all the time")
    try change(scene)
    fleet.advance(1_500)
    claim(origin.saveCount == saves + 1, origin, "R2.2: it is not saved 10 s after the first change")
    try change(scene)
    fleet.advance(1_900)
    // The mark may be set at any time, without a call of the engine (R2.3).
    origin.noteChange(scene.index)
    fleet.advance(1_900)
    claim(origin.saveCount == saves + 1, origin, "R2.2: it is saved too early")
    fleet.advance(200)
    claim(origin.saveCount == saves + 2, origin, "R2.2: it is not saved 2 s after the last change")
    fleet.advance(20_000)
    claim(origin.saveCount == saves + 2, origin, "R2.2: it is saved, and nothing has changed")
  }

  /// A pull hands over unreported changes, unless the app has declared that nothing needs saving (R2.9).
  mutating func trySavePolicy(_ scene: Scene) throws(SegueError) {
    let origin = scene.origin
    let asks = if case .whenPulled = origin.savePolicy { 1 } else { 0 }
    fleet.advance(2 * Limits().saveDelay)
    var saves = origin.saveCount
    let number = nextNumber()
    try origin.edit(scene.index, number)
    let pulled = `continue`(scene)
    expect(scene, pulled, .continued(isStale: false), .restored)
    claim((witness?[pulled]?.number == number) == (asks == 1), scene.viewer, "R2.9: another state than its policy says")
    saves += asks
    claim(origin.saveCount == saves, origin, "R2.9: will_save as often as its policy does not say")
    origin.declareSaved(scene.index)
    expect(scene, `continue`(scene), .continued(isStale: false), .restored)
    claim(origin.saveCount == saves, origin, "R2.9: it has said that nothing needs saving, and is not believed")
    try change(scene)
    expect(scene, `continue`(scene), .continued(isStale: false), .restored)
    saves += 1
    claim(origin.saveCount == saves, origin, "R2.9: it is believed beyond the next change")
    // A receiver that asks during a save gets what was written until then.
    origin.answersSaves = false
    try change(scene)
    let first = begin(scene)
    fleet.advance(Self.toldTime)
    let late = nextNumber()
    try origin.edit(scene.index, late)
    let second = begin(scene)
    fleet.advance(Self.toldTime)
    expect(scene, first, .failed(.userCancelled), .failed)
    origin.answersSaves = true
    origin.answer()
    fleet.advance(Self.continuedTime)
    expect(scene, second, .continued(isStale: false), .restored)
    let isLatest = witness?[second]?.number == late
    claim(isLatest == (asks == 1), scene.viewer, "R2.9: it gets what was saved before it asked")
    saves += 1 + asks
    claim(origin.saveCount == saves, origin, "R2.9: will_save as often as its policy does not say")
    origin.setForeground(false)
    fleet.advance(Self.toldTime)
    claim(origin.saveCount == saves + asks, origin, "R2.9: it is not saved when its app leaves")
  }

  /// Changes are published once in 100 ms, and always the last one (R2.8); many cause one will_save (R2.3).
  mutating func tryChanging(_ scene: Scene) throws(SegueError) {
    let saves = scene.origin.saveCount
    _ = events(scene)
    for _ in 0..<30 {
      try change(scene)
      fleet.advance(10)
    }
    fleet.advance(Limits.offerUpdate)
    let isTold = Text.isSame(
      scene.viewer.engine?.offers[scene.id]?.description.title, scene.origin.current?.title)
    claim(isTold || !scene.isOnOneDevice, scene.viewer, "R2.8: the last change is told too late")
    fleet.advance(Self.toldTime)
    checkOffer(scene.id, of: scene.origin)
    let events = events(scene)
    claim(events.count <= 5, scene.viewer, "R2.8: more than one change in 100 ms")
    claim(events.allSatisfy { $0 == .changed }, scene.viewer, "R2.8: it was gone and is back")
    let version = UInt32(truncatingIfNeeded: random.next())
    try scene.origin.change(scene.index) { (activity) throws(SegueError) in
      activity.setPayloadVersion(version)
      activity.setSupportsContinuationStreams(true)
    }
    fleet.advance(2_500)
    checkOffer(scene.id, of: scene.origin)
    claim(scene.origin.saveCount - saves <= 1, scene.origin, "R2.3: more than one will_save")
  }

  /// One current activity per app, the last activated in front (R1.11, R1.12, R1.8).
  mutating func tryActivating(_ scene: Scene) throws(SegueError) {
    let (origin, viewer) = (scene.origin, scene.viewer)
    let other = random.identifier()
    origin.becomeCurrent(other, try activity())
    fleet.advance(Self.toldTime)
    checkGone(scene.id)
    checkOffer(other, of: origin)
    origin.becomeCurrent(origin.activityCount - 2)
    fleet.advance(Self.toldTime)
    checkGone(other)
    checkOffer(scene.id, of: origin)
    let fromViewer = random.identifier()
    viewer.becomeCurrent(fromViewer, try activity())
    fleet.advance(Self.toldTime)
    checkOffer(fromViewer, of: viewer)
    origin.setForeground(true)
    fleet.advance(Self.toldTime)
    checkOffer(scene.id, of: origin)
    let index = origin.activityCount - 2
    try origin.change(index) { (activity) throws(SegueError) in activity.setEligible(.handoff, false) }
    fleet.advance(Self.toldTime)
    checkGone(scene.id)
    try origin.change(index) { (activity) throws(SegueError) in activity.setEligible(.handoff, true) }
    fleet.advance(Self.toldTime)
    checkOffer(scene.id, of: origin)
    origin.setForeground(false)
    origin.resignCurrent(index)
    fleet.advance(Self.toldTime)
    checkGone(scene.id)
  }

  /// The events of the offer at the viewer since the last call.
  private func events(_ scene: Scene) -> [Delivery.OfferEvent] {
    witness?.takeEvents(of: scene.viewer).filter { $0.id == scene.id }.map { $0.event } ?? []
  }

  // MARK: Hubs

  /// It resumes through the next hub, under the same name (R3.14), and no app notices the change (R2.8).
  mutating func tryHubDies(_ scene: Scene) throws(SegueError) {
    guard scene.isOnOneDevice, let hub = hubApp(scene.origin.process.device, scene) else { return }
    let isMidway = random.chance(0.5)
    if isMidway {
      // More than a window.
      try change(scene, size: 300_000)
      fleet.advance(Self.toldTime)
    }
    _ = events(scene)
    scene.origin.answersSaves = false
    let id = begin(scene)
    fleet.advance(random.within(0, 200))
    if isMidway {
      // The receiver does not read, so that only a part has arrived when the hub dies.
      scene.viewer.process.stall()
      scene.origin.answersSaves = true
      scene.origin.answer()
      fleet.advance(random.within(1, 50))
    }
    hub.process.kill()
    scene.viewer.process.resume()
    // Longer than the wait for a hub.
    fleet.advance(2_500)
    scene.origin.answersSaves = true
    scene.origin.answer()
    fleet.advance(Self.continuedTime)
    expect(scene, id, .continued(isStale: false), .restored)
    claim(events(scene).isEmpty, scene.viewer, "R2.8: another hub is seen by who sees its offers")
    checkOffer(scene.id, of: scene.origin)
  }

  /// A hub that does not answer is replaced in time, however many messages it gets; when it continues it has no effect.
  mutating func tryHubStops(_ scene: Scene) throws(SegueError) {
    guard scene.isOnOneDevice, let hub = hubApp(scene.origin.process.device, scene) else { return }
    let generation = scene.origin.engine?.hubGeneration ?? 0
    hub.process.stall()
    for _ in 0..<12 {
      try change(scene)
      fleet.advance(100)
    }
    fleet.advance(Self.toldTime)
    for app in [scene.origin, scene.viewer] {
      claim(app.engine?.hubGeneration ?? 0 > generation, app, "section 9: a hub that is silent for over 1 s is kept")
    }
    expect(scene, `continue`(scene), .continued(isStale: false), .restored)
    hub.process.resume()
    fleet.advance(Fleet.agreementTime)
    checkOffer(scene.id, of: scene.origin)
  }

  /// Offers are kept for 3 s without a hub, and continuations wait 2 s for one (R3.14); requests and streams wait
  /// longer.
  mutating func tryWithoutHub(_ scene: Scene) {
    let device = scene.viewer.process.device
    guard let hub = hubApp(device, scene), let from = continued(scene) else { return }
    device.admitsHubs = false
    hub.process.kill()
    fleet.advance(100)
    let id = begin(scene)
    let number = ask(scene, from, 100)
    scene.viewer.askStream(random.identifier(), from)
    fleet.advance(1_800)
    claim(witness?[id]?.told.last == .willContinue, scene.viewer, "R3.14: it does not wait for the next hub")
    fleet.advance(200)
    expect(scene, id, .failed(.connectionUnavailable), nil)
    fleet.advance(800)
    claim(scene.viewer.engine?.offers[scene.id] != nil, scene.viewer, "R2.8: a moment without a hub is seen")
    fleet.advance(200)
    claim(scene.viewer.offers.isEmpty, scene.viewer, "R2.8: what nobody may offer any more is still seen")
    device.admitsHubs = true
    // It was refused after 0, 1 and 3 s; the next attempt is after 7 s.
    fleet.advance(4_000 + Fleet.agreementTime)
    // Long enough that no app is expected at the next hub any longer.
    expectAnswer(scene, number, nil, .connectionUnavailable)
    checkOffer(scene.id, of: scene.origin)
    expect(scene, `continue`(scene), .continued(isStale: false), .restored)
  }

  /// An outcome that the hub lost is sent to the next one (R3.6).
  mutating func tryAnswerWithoutHub(_ scene: Scene) {
    guard scene.isOnOneDevice, let hub = hubApp(scene.origin.process.device, scene) else { return }
    scene.viewer.answersContinue = false
    let id = `continue`(scene)
    hub.process.kill()
    fleet.advance(random.within(0, 2))
    scene.viewer.answersContinue = true
    scene.viewer.answer()
    fleet.advance(Self.continuedTime)
    expect(scene, id, .continued(isStale: false), .restored)
  }

  /// Why is it not offered there? (R6.5)
  mutating func tryExplaining(_ scene: Scene) throws(SegueError) {
    let origin = scene.origin
    let others = apps.filter { $0.isAlive && $0 !== origin && $0.process.device === origin.process.device }
    let strangers = others.filter { !sees($0, origin) }
    origin.explain(scene.index)
    fleet.advance(500)
    let count = others.isEmpty ? 1 : strangers.count
    claim(origin.reasons?.count == count, origin, "R6.5: more or fewer reasons than there are")
    if let hub = hubApp(origin.process.device, scene) {
      origin.explain(scene.index)
      hub.process.kill()
      fleet.advance(500)
      claim(origin.reasons?.count == 1, origin, "R6.5: the hub went away, and explain was not answered")
      fleet.advance(Fleet.agreementTime)
    }
    try origin.change(scene.index) { (activity) throws(SegueError) in activity.setEligible(.handoff, false) }
    origin.explain(scene.index)
    fleet.advance(500)
    claim(origin.reasons?.count == 1, origin, "R6.5: it is not eligible, and there is no reason")
    origin.resignCurrent(scene.index)
    origin.explain(scene.index)
    fleet.advance(500)
    claim(origin.reasons?.count == 2, origin, "R6.5: it is not current, and there is no reason")
  }

  /// A silent connection is closed after 5 s (A19).
  mutating func tryMute(_ scene: Scene) {
    guard let crowd = Crowd(1, on: scene.origin.process.device) else { return }
    fleet.advance(4_900)
    claim(crowd.count == 1, scene.origin, "A19: who has yet to say hello is ended too early")
    fleet.advance(200)
    claim(crowd.count == 0, scene.origin, "A19: who says nothing stays connected")
  }

  /// A broken link resumes where it was, without loss or repetition (R7.4).
  mutating func tryCut(_ scene: Scene) throws(SegueError) {
    guard !scene.isOnOneDevice else { return }
    try change(scene, size: random.below(150_000))
    let number = scene.origin.current.flatMap { ScriptedApp.number(of: $0) }
    let id = begin(scene)
    for _ in 0..<3 {
      fleet.advance(random.within(2, 80))
      for link in scene.origin.process.device.links { link.cut(fleet) }
      fleet.advance(random.within(0, 600))
    }
    fleet.advance(2 * Self.continuedTime)
    let isDirect = scene.origin.process.device.link(to: scene.viewer.process.device) != nil
    // A hub between the two may get the request while it does not see the origin.
    if isDirect || witness?[id]?.told.last != .failed(.connectionUnavailable) {
      expect(scene, id, .continued(isStale: false), .restored)
      claim(witness?[id]?.number == number, scene.viewer, "R2.2: it does not get the present state")
    }
    checkOffer(scene.id, of: scene.origin)
  }
}
