import SegueEngine
import SegueModel

/// Scenarios of the quiescent phase: each states which callbacks its two apps get, and when.
extension Story {
  enum Trial: String, CaseIterable {
    case answers, stale, second, cancelled, timeout, silentReceiver
    case invalidated, withdrawing, originGone, receiverGone, expired, foreign
    case saving, savePolicy
    case changing, activating, hubDies, hubStops, withoutHub, answerWithoutHub, explaining, mute, lying, linking,
      cut
    case requesting, tooLarge, unanswered, requestHubDies
    case strained, crowded
    case streaming, streamEnds, streamSideDies, streamYoungHub, streamHubDies, streamSilence, fetching

    /// The hub belongs to a third app, so that its loss affects both apps.
    var isOfThirdHub: Bool {
      switch self {
      case .hubDies, .hubStops, .withoutHub, .answerWithoutHub, .requestHubDies: true
      default: false
      }
    }
  }

  mutating func play(_ trial: Trial, _ scene: Scene) throws(SegueError) {
    switch trial {
    case .answers: tryAnswers(scene)
    case .stale: try tryStale(scene)
    case .second, .cancelled, .timeout: trySlow(trial, scene)
    case .silentReceiver: trySilentReceiver(scene)
    case .invalidated: tryInvalidated(scene)
    case .withdrawing: try tryWithdrawing(scene)
    case .originGone: tryOriginGone(scene)
    case .receiverGone: tryReceiverGone(scene)
    case .expired: try tryExpired(scene)
    case .foreign: try tryForeign(scene)
    case .saving: try trySaving(scene)
    case .savePolicy: try trySavePolicy(scene)
    case .changing: try tryChanging(scene)
    case .activating: try tryActivating(scene)
    case .hubDies: try tryHubDies(scene)
    case .hubStops: try tryHubStops(scene)
    case .withoutHub: tryWithoutHub(scene)
    case .answerWithoutHub: tryAnswerWithoutHub(scene)
    case .explaining: try tryExplaining(scene)
    case .mute: tryMute(scene)
    case .lying: try tryLying(scene)
    case .linking: try tryLinking(scene)
    case .cut: try tryCut(scene)
    case .strained: try tryStrained(scene)
    case .crowded: try tryCrowded(scene)
    case .requesting: try tryRequesting(scene)
    case .tooLarge: try tryTooLarge(scene)
    case .unanswered: try tryUnanswered(scene)
    case .requestHubDies: try tryRequestHubDies(scene)
    case .streaming: try tryStreaming(scene)
    case .streamEnds: try tryStreamEnds(scene)
    case .streamSideDies: try tryStreamSideDies(scene)
    case .streamYoungHub: try tryStreamYoungHub(scene)
    case .streamHubDies: try tryStreamHubDies(scene)
    case .streamSilence: try tryStreamSilence(scene)
    case .fetching: try tryFetching(scene)
    }
  }

  // MARK: Steps

  mutating func begin(_ scene: Scene, timeout: Int64? = nil) -> Identifier {
    let id = random.identifier()
    if let offer = scene.viewer.engine?.offers[scene.id] { scene.viewer.continue(offer, id, timeout: timeout) }
    return id
  }

  /// Continues the activity, and waits until the continuation ends.
  mutating func `continue`(_ scene: Scene) -> Identifier {
    let id = begin(scene)
    fleet.advance(Self.continuedTime)
    return id
  }

  func expect(_ scene: Scene, _ id: Identifier, _ end: Attempt.Told?, _ outcome: Outcome?) {
    let attempt = witness?[id]
    claim(attempt?.told == [.willContinue] + (end.map { [$0] } ?? []), scene.viewer, "R3.2: it is told another end")
    claim(attempt?.receipt?.outcome == outcome, scene.origin, "R3.6: another outcome than is due")
  }

  mutating func change(_ scene: Scene, size: Int? = nil) throws(SegueError) {
    let number = nextNumber()
    try scene.origin.change(scene.index) { (activity) throws(SegueError) in
      try ScriptedApp.write(number, size: size, to: &activity)
    }
  }

  /// The app in whose process the hub of a device is, unless it is one of the scene's.
  func hubApp(_ device: FleetDevice, _ scene: Scene) -> ScriptedApp? {
    let process = device.hub?.process
    return apps.first { $0.isAlive && $0.process === process && $0 !== scene.origin && $0 !== scene.viewer }
  }

  // MARK: Continuing

  /// Each answer of the receiver is the outcome (R3.4, R3.6, R3.7), and a clean activity is not saved again (R1.7).
  private mutating func tryAnswers(_ scene: Scene) {
    let viewer = scene.viewer
    let saves = scene.origin.saveCount
    viewer.declines = true
    let declined = `continue`(scene)
    expect(scene, declined, .failed(.declined), .declined)
    claim(
      Text.isSame(witness?[declined]?.receipt?.reason, "not now"), scene.origin, "R3.7: another reason than was given")
    claim(scene.origin.saveCount - saves <= 1, scene.origin, "R1.7: will_save twice, and no change between")
    viewer.declines = false
    let number = nextNumber()
    let isSaved = scene.origin.current?.needsSave == false
    scene.origin.numberOnSave = number
    viewer.handles = false
    let notHandled = `continue`(scene)
    expect(scene, notHandled, .continued(isStale: false), .declined)
    let asks = if case .whenPulled = scene.origin.savePolicy { true } else { !isSaved }
    claim(!asks || witness?[notHandled]?.number == number, viewer, "R2.2: it does not get what will_save wrote")
    viewer.handles = true
    viewer.restores = false
    expect(scene, `continue`(scene), .continued(isStale: false), .failed)
    viewer.restores = true
    scene.origin.moves = random.chance(0.5)
    expect(scene, `continue`(scene), .continued(isStale: false), .restored)
    // When needed, once for all of them; when pulled, once for each that asked for the state.
    let savesOfPulls = if case .whenPulled = scene.origin.savePolicy { 3 } else { isSaved ? 0 : 1 }
    claim(
      scene.origin.saveCount - saves == savesOfPulls + (isSaved ? 1 : 0), scene.origin,
      "R2.9: will_save as often as its policy does not say")
    if scene.origin.moves { checkGone(scene.id) }
    // Until all is saved: then no further message concerns it.
    fleet.advance(2 * Limits().saveDelay)
    for app in [scene.origin, viewer] { checkIsIdle(app) }
  }

  /// If the origin does not save in time, its last snapshot is handed over, marked stale, if there is one (R2.4).
  private mutating func tryStale(_ scene: Scene) throws(SegueError) {
    let origin = scene.origin
    origin.answersSaves = false
    let first = begin(scene)
    fleet.advance(Limits().save + 500)
    expect(scene, first, .failed(.remoteApplicationTimedOut), .failed)
    origin.answersSaves = true
    expect(scene, `continue`(scene), .continued(isStale: false), .restored)
    origin.answersSaves = false
    try change(scene)
    let stale = begin(scene)
    fleet.advance(Limits().save - 500)
    expect(scene, stale, nil, nil)
    fleet.advance(1_000)
    expect(scene, stale, .continued(isStale: true), .restored)
    claim(witness?[stale]?.receipt?.isStale == true, origin, "R2.4: a stale state passes for a fresh one")
    // A failed save leaves the activity unsaved.
    origin.answersSaves = true
    expect(scene, `continue`(scene), .continued(isStale: false), .restored)
  }

  /// While the origin saves, a newer continuation replaces it (R3.3), it is cancelled, or its time is over (R3.9).
  private mutating func trySlow(_ trial: Trial, _ scene: Scene) {
    scene.origin.answersSaves = false
    let id = begin(scene, timeout: trial == .timeout ? 2_000 : nil)
    fleet.advance(500)
    expect(scene, id, nil, nil)
    switch trial {
    case .second:
      let second = begin(scene)
      fleet.advance(500)
      expect(scene, id, .failed(.userCancelled), .failed)
      scene.origin.answersSaves = true
      scene.origin.answer()
      fleet.advance(Self.continuedTime)
      expect(scene, second, .continued(isStale: false), .restored)
    case .cancelled:
      scene.viewer.cancel(id)
      fleet.advance(500)
      expect(scene, id, .failed(.userCancelled), .failed)
    default:
      fleet.advance(1_400)
      expect(scene, id, nil, nil)
      fleet.advance(500)
      expect(scene, id, .failed(.remoteApplicationTimedOut), .failed)
    }
    scene.origin.answersSaves = true
    scene.origin.answer()
    expect(scene, `continue`(scene), .continued(isStale: false), .restored)
  }

  /// A receiver that does not answer `continue` in time has not restored the activity (R3.6, R3.9), whatever it answers
  /// later.
  private mutating func trySilentReceiver(_ scene: Scene) {
    scene.viewer.answersContinue = false
    let id = begin(scene, timeout: Self.continuedTime)
    fleet.advance(Self.continuedTime - 100)
    expect(scene, id, .continued(isStale: false), nil)
    fleet.advance(600)
    expect(scene, id, .continued(isStale: false), .failed)
    claim(
      witness?[id]?.receipt?.status == .remoteApplicationTimedOut, scene.origin, "R3.9: another reason than its time")
    scene.viewer.answersContinue = true
    scene.viewer.answer()
    fleet.advance(500)
  }

  /// After invalidation no receiver gets the activity that does not have it yet (R1.11).
  private mutating func tryInvalidated(_ scene: Scene) {
    scene.origin.answersSaves = false
    let id = begin(scene)
    fleet.advance(200)
    scene.origin.invalidate(scene.index)
    fleet.advance(Self.toldTime)
    expect(scene, id, .failed(.handoffFailed), .failed)
    checkGone(scene.id)
    scene.origin.tell { $0.becomeCurrent(scene.id, $1) }
    fleet.advance(Self.toldTime)
    checkGone(scene.id)
  }

  /// On routes with varying delays, a withdrawal arrives before earlier messages (R1.11).
  private mutating func tryWithdrawing(_ scene: Scene) throws(SegueError) {
    try fleet.network.setDelay(1, 400)
    try fleet.network.setFaults(loss: 0.3, duplication: 0, reordering: 0.3)
    var withdrawn: [Identifier] = []
    for app in apps { _ = witness?.takeEvents(of: app) }
    for _ in 0..<6 {
      let id = random.identifier()
      withdrawn.append(id)
      scene.origin.becomeCurrent(id, try activity())
      fleet.advance(random.within(10, 500))
      scene.origin.invalidate(scene.index)
      fleet.advance(random.within(0, 100))
    }
    fleet.network = Network()
    fleet.advance(10_000)
    for id in withdrawn { checkGone(id) }
    for app in apps {
      var gone: Set<Identifier> = []
      for (event, id) in witness?.takeEvents(of: app) ?? [] where withdrawn.contains(id) {
        claim(event == .gone || !gone.contains(id), app, "R1.11: what was withdrawn comes back")
        if event == .gone { gone.insert(id) }
      }
    }
  }

  private mutating func tryOriginGone(_ scene: Scene) {
    let hadHub = scene.origin.process.hub != nil
    let isKilled = random.chance(0.5)
    scene.origin.answersSaves = false
    let id = begin(scene)
    fleet.advance(200)
    if isKilled { scene.origin.process.kill() } else { scene.origin.close() }
    if hadHub, isKilled, scene.isOnOneDevice {
      // The next hub gives it the time to come back that all apps have.
      fleet.advance(3_000)
      expect(scene, id, .failed(.connectionUnavailable), nil)
    }
    fleet.advance(hadHub ? Limits().continuation : Self.toldTime)
    if !hadHub {
      expect(scene, id, .failed(isKilled ? .connectionUnavailable : .handoffFailed), isKilled ? nil : .failed)
    }
    checkGone(scene.id)
  }

  /// A lost answer is *unknown*, never guessed; a receiver that closes has not restored it; one that had nothing yet
  /// has failed (R3.6).
  private mutating func tryReceiverGone(_ scene: Scene) {
    let hadHub = scene.viewer.process.hub != nil
    let isKilled = random.chance(0.5)
    let hasAll = random.chance(0.5)
    scene.viewer.answersContinue = false
    scene.origin.answersSaves = hasAll
    let id = `continue`(scene)
    if isKilled { scene.viewer.process.kill() } else { scene.viewer.close() }
    // With the hub ending, too, the answer may be lost: waits until nothing more can arrive.
    fleet.advance(hadHub ? Limits().continuation + 3_000 : Self.toldTime)
    let outcome = witness?[id]?.receipt?.outcome
    if isKilled || !hadHub {
      claim(outcome == (hasAll && isKilled ? .unknown : .failed), scene.origin, "R3.6: another outcome than is due")
    } else {
      claim(outcome == .failed || hasAll && outcome == .unknown, scene.origin, "R3.6: another outcome than is due")
    }
  }

  /// Past its date the activity is not offered, and not fetched (R1.6).
  private mutating func tryExpired(_ scene: Scene) throws(SegueError) {
    let date = scene.origin.process.now.date + 4
    try scene.origin.change(scene.index) { (activity) throws(SegueError) in try activity.setExpirationDate(date) }
    fleet.advance(Self.toldTime)
    checkOffer(scene.id, of: scene.origin)
    let offer = scene.viewer.engine?.offers[scene.id]
    fleet.advance(5_000)
    checkGone(scene.id)
    let id = random.identifier()
    if let offer { scene.viewer.continue(offer, id) }
    fleet.advance(Self.toldTime)
    expect(scene, id, .failed(.handoffFailed), nil)
    // It is saved nevertheless, and then no timer remains.
    fleet.advance(2 * Limits().saveDelay)
    let hasDates = scene.origin.offers.contains { $0.description.expirationDate != nil }
    claim(hasDates || scene.origin.engine?.nextDeadline == nil, scene.origin, "R1.6: it has expired, and is waited for")
    try scene.origin.change(scene.index) { (activity) throws(SegueError) in try activity.setExpirationDate(nil) }
    fleet.advance(Self.toldTime)
    checkOffer(scene.id, of: scene.origin)
  }

  /// An app that may not see the activity does not get it, whatever it knows, and the origin does not notice (R6.2).
  private mutating func tryForeign(_ scene: Scene) throws(SegueError) {
    guard let offer = scene.viewer.engine?.offers[scene.id] else { return }
    let identity = AppIdentity(
      secret: random.identifier(), bundleIdentifier: "com.example.foreign", name: "foreign", team: "FOREIGN",
      types: Self.types, isChooser: false)
    let foreign = try ScriptedApp(identity, on: scene.viewer.process.device, witness)
    apps.append(foreign)
    fleet.advance(Self.toldTime)
    checkOffer(scene.id, of: scene.origin)
    let id = random.identifier()
    foreign.continue(offer, id)
    fleet.advance(500)
    expect(Scene(origin: scene.origin, viewer: foreign, id: scene.id), id, .failed(.handoffFailed), nil)
    foreign.close()
  }
}
