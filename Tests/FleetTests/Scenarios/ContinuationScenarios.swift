// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueFleet

/// Scenarios of the quiescent phase: each states which callbacks its two apps get, and when.
extension CheckedWorkload {
  enum Scenario: String, CaseIterable {
    case answers, stale, second, cancelled, timeout, silentReceiver
    case invalidated, withdrawing, originGone, receiverGone, expired, foreign
    case saving, savePolicy
    case changing, activating, hubDies, hubStops, withoutHub, answerWithoutHub, explaining, mute, lying, disguised,
      linking, cut
    case resumingBack, resumingFails
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

  func play(_ scenario: Scenario, _ fixture: Fixture) throws(SegueError) {
    switch scenario {
    case .answers: tryAnswers(fixture)
    case .stale: try tryStale(fixture)
    case .second, .cancelled, .timeout: trySlow(scenario, fixture)
    case .silentReceiver: trySilentReceiver(fixture)
    case .invalidated: tryInvalidated(fixture)
    case .withdrawing: try tryWithdrawing(fixture)
    case .originGone: tryOriginGone(fixture)
    case .receiverGone: tryReceiverGone(fixture)
    case .expired: try tryExpired(fixture)
    case .foreign: try tryForeign(fixture)
    case .saving: try trySaving(fixture)
    case .savePolicy: try trySavePolicy(fixture)
    case .changing: try tryChanging(fixture)
    case .activating: try tryActivating(fixture)
    case .hubDies: try tryHubDies(fixture)
    case .hubStops: try tryHubStops(fixture)
    case .withoutHub: tryWithoutHub(fixture)
    case .answerWithoutHub: tryAnswerWithoutHub(fixture)
    case .explaining: try tryExplaining(fixture)
    case .mute: tryMute(fixture)
    case .lying: try tryLying(fixture)
    case .disguised: try tryDisguised(fixture)
    case .linking: try tryLinking(fixture)
    case .cut: try tryCut(fixture)
    case .strained: try tryStrained(fixture)
    case .crowded: try tryCrowded(fixture)
    case .resumingBack: try tryResumingBack(fixture)
    case .resumingFails: try tryResumingFails(fixture)
    case .requesting: try tryRequesting(fixture)
    case .tooLarge: try tryTooLarge(fixture)
    case .unanswered: try tryUnanswered(fixture)
    case .requestHubDies: try tryRequestHubDies(fixture)
    case .streaming: try tryStreaming(fixture)
    case .streamEnds: try tryStreamEnds(fixture)
    case .streamSideDies: try tryStreamSideDies(fixture)
    case .streamYoungHub: try tryStreamYoungHub(fixture)
    case .streamHubDies: try tryStreamHubDies(fixture)
    case .streamSilence: try tryStreamSilence(fixture)
    case .fetching: try tryFetching(fixture)
    }
  }

  // MARK: Steps

  func begin(_ fixture: Fixture, timeout: Int64? = nil) -> Identifier {
    let id = random.identifier()
    if let offer = fixture.viewer.engine?.offers[fixture.id] { fixture.viewer.continue(offer, id, timeout: timeout) }
    return id
  }

  /// Continues the activity, and waits until the continuation ends.
  func `continue`(_ fixture: Fixture) -> Identifier {
    let id = begin(fixture)
    fleet.advance(Self.continuationTime)
    return id
  }

  func expect(_ fixture: Fixture, _ id: Identifier, _ end: Attempt.Callback?, _ outcome: Outcome?) {
    let attempt = history[id]
    let callbacks: [Attempt.Callback] = [.willContinue] + (end.map { [$0] } ?? [])
    expect(attempt?.callbacks == callbacks, fixture.viewer, "R3.2: it is told another end")
    expect(attempt?.receipt?.outcome == outcome, fixture.origin, "R3.6: another outcome than is due")
  }

  func change(_ fixture: Fixture, size: Int? = nil) throws(SegueError) {
    let number = nextNumber()
    try fixture.origin.change(fixture.index) { (activity) throws(SegueError) in
      try ScriptedApp.write(number, size: size, to: &activity)
    }
  }

  /// The app in whose process the hub of a device is, unless it is one of the fixture's.
  func hubApp(_ device: FleetDevice, _ fixture: Fixture) -> ScriptedApp? {
    let process = device.hub?.process
    return apps.first { $0.isAlive && $0.process === process && $0 !== fixture.origin && $0 !== fixture.viewer }
  }

  // MARK: Continuing

  /// Each answer of the receiver is the outcome (R3.4, R3.6, R3.7), and a clean activity is not saved again (R1.7).
  private func tryAnswers(_ fixture: Fixture) {
    let viewer = fixture.viewer
    let saves = fixture.origin.saveCount
    viewer.answers.declines = true
    let declined = `continue`(fixture)
    expect(fixture, declined, .failed(.declined), .declined)
    expect(
      Text.isSame(history[declined]?.receipt?.reason, "not now"), fixture.origin, "R3.7: another reason than was given")
    expect(fixture.origin.saveCount - saves <= 1, fixture.origin, "R1.7: will_save twice, and no change between")
    viewer.answers.declines = false
    let number = nextNumber()
    let isSaved = fixture.origin.current?.needsSave == false
    fixture.origin.answers.numberOnSave = number
    viewer.answers.handles = false
    let notHandled = `continue`(fixture)
    expect(fixture, notHandled, .continued(isStale: false), .declined)
    let asks = if case .whenPulled = fixture.origin.savePolicy { true } else { !isSaved }
    expect(!asks || history[notHandled]?.number == number, viewer, "R2.2: it does not get what will_save wrote")
    viewer.answers.handles = true
    viewer.answers.restores = false
    expect(fixture, `continue`(fixture), .continued(isStale: false), .failed)
    viewer.answers.restores = true
    fixture.origin.answers.moves = random.chance(0.5)
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
    // When needed, once for all of them; when pulled, once for each that asked for the state.
    let savesOfPulls = if case .whenPulled = fixture.origin.savePolicy { 3 } else { isSaved ? 0 : 1 }
    expect(
      fixture.origin.saveCount - saves == savesOfPulls + (isSaved ? 1 : 0), fixture.origin,
      "R2.9: will_save as often as its policy does not say")
    if fixture.origin.answers.moves { checkGone(fixture.id) }
    // Until all is saved: then no further message concerns it.
    fleet.advance(2 * Limits().saveDelay)
    for app in [fixture.origin, viewer] { checkIsIdle(app) }
  }

  /// If the origin does not save in time, its last snapshot is handed over, marked stale, if there is one (R2.4).
  private func tryStale(_ fixture: Fixture) throws(SegueError) {
    let origin = fixture.origin
    origin.answers.saves = false
    let first = begin(fixture)
    fleet.advance(Limits().save + 500)
    expect(fixture, first, .failed(.remoteApplicationTimedOut), .failed)
    origin.answers.saves = true
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
    origin.answers.saves = false
    try change(fixture)
    let stale = begin(fixture)
    fleet.advance(Limits().save - 500)
    expect(fixture, stale, nil, nil)
    fleet.advance(1_000)
    expect(fixture, stale, .continued(isStale: true), .restored)
    expect(history[stale]?.receipt?.isStale == true, origin, "R2.4: a stale state passes for a fresh one")
    // A failed save leaves the activity unsaved.
    origin.answers.saves = true
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
  }

  /// While the origin saves, a newer continuation replaces it (R3.3), it is cancelled, or its time is over (R3.9).
  private func trySlow(_ scenario: Scenario, _ fixture: Fixture) {
    fixture.origin.answers.saves = false
    let id = begin(fixture, timeout: scenario == .timeout ? 2_000 : nil)
    fleet.advance(500)
    expect(fixture, id, nil, nil)
    switch scenario {
    case .second:
      let second = begin(fixture)
      fleet.advance(500)
      expect(fixture, id, .failed(.userCancelled), .failed)
      fixture.origin.answers.saves = true
      fixture.origin.answer()
      fleet.advance(Self.continuationTime)
      expect(fixture, second, .continued(isStale: false), .restored)
    case .cancelled:
      fixture.viewer.cancel(id)
      fleet.advance(500)
      expect(fixture, id, .failed(.userCancelled), .failed)
    default:
      fleet.advance(1_400)
      expect(fixture, id, nil, nil)
      fleet.advance(500)
      expect(fixture, id, .failed(.remoteApplicationTimedOut), .failed)
    }
    fixture.origin.answers.saves = true
    fixture.origin.answer()
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
  }

  /// A receiver that does not answer `continue` in time has not restored the activity (R3.6, R3.9), whatever it answers
  /// later.
  private func trySilentReceiver(_ fixture: Fixture) {
    fixture.viewer.answers.continues = false
    let id = begin(fixture, timeout: Self.continuationTime)
    fleet.advance(Self.continuationTime - 100)
    expect(fixture, id, .continued(isStale: false), nil)
    fleet.advance(600)
    expect(fixture, id, .continued(isStale: false), .failed)
    expect(
      history[id]?.receipt?.status == .remoteApplicationTimedOut, fixture.origin, "R3.9: another reason than its time")
    fixture.viewer.answers.continues = true
    fixture.viewer.answer()
    fleet.advance(500)
  }

  /// After invalidation no receiver gets the activity that does not have it yet (R1.11).
  private func tryInvalidated(_ fixture: Fixture) {
    fixture.origin.answers.saves = false
    let id = begin(fixture)
    fleet.advance(200)
    fixture.origin.invalidate(fixture.index)
    fleet.advance(Self.publishTime)
    expect(fixture, id, .failed(.handoffFailed), .failed)
    checkGone(fixture.id)
    fixture.origin.perform { $0.becomeCurrent(fixture.id, $1) }
    fleet.advance(Self.publishTime)
    checkGone(fixture.id)
  }

  /// On routes with varying delays, a withdrawal arrives before earlier messages (R1.11).
  private func tryWithdrawing(_ fixture: Fixture) throws(SegueError) {
    try fleet.network.setDelay(1, 400)
    try fleet.network.setFaults(loss: 0.3, duplication: 0, reordering: 0.3)
    var withdrawn: [Identifier] = []
    for app in apps { _ = history.takeEvents(of: app) }
    for _ in 0..<6 {
      let id = random.identifier()
      withdrawn.append(id)
      fixture.origin.becomeCurrent(id, try activity())
      fleet.advance(random.within(10, 500))
      fixture.origin.invalidate(fixture.index)
      fleet.advance(random.within(0, 100))
    }
    fleet.network = Network()
    fleet.advance(10_000)
    for id in withdrawn { checkGone(id) }
    for app in apps {
      var gone: Set<Identifier> = []
      for (event, id) in history.takeEvents(of: app) where withdrawn.contains(id) {
        expect(event == .gone || !gone.contains(id), app, "R1.11: what was withdrawn comes back")
        if event == .gone { gone.insert(id) }
      }
    }
  }

  private func tryOriginGone(_ fixture: Fixture) {
    let hadHub = fixture.origin.process.hub != nil
    let isKilled = random.chance(0.5)
    fixture.origin.answers.saves = false
    let id = begin(fixture)
    fleet.advance(200)
    if isKilled { fixture.origin.process.kill() } else { fixture.origin.close() }
    if hadHub, isKilled, fixture.isOnOneDevice {
      // The next hub gives it the time to come back that all apps have.
      fleet.advance(3_000)
      expect(fixture, id, .failed(.connectionUnavailable), nil)
    }
    fleet.advance(hadHub ? Limits().continuation : Self.publishTime)
    if !hadHub {
      expect(fixture, id, .failed(isKilled ? .connectionUnavailable : .handoffFailed), isKilled ? nil : .failed)
    }
    checkGone(fixture.id)
  }

  /// A lost answer is *unknown*, never guessed; a receiver that closes has not restored it; one that had nothing yet
  /// has failed (R3.6).
  private func tryReceiverGone(_ fixture: Fixture) {
    let hadHub = fixture.viewer.process.hub != nil
    let isKilled = random.chance(0.5)
    let hasAll = random.chance(0.5)
    fixture.viewer.answers.continues = false
    fixture.origin.answers.saves = hasAll
    let id = `continue`(fixture)
    if isKilled { fixture.viewer.process.kill() } else { fixture.viewer.close() }
    // With the hub ending, too, the answer may be lost: waits until nothing more can arrive.
    fleet.advance(hadHub ? Limits().continuation + 3_000 : Self.publishTime)
    let outcome = history[id]?.receipt?.outcome
    if isKilled || !hadHub {
      expect(outcome == (hasAll && isKilled ? .unknown : .failed), fixture.origin, "R3.6: another outcome than is due")
    } else {
      expect(outcome == .failed || hasAll && outcome == .unknown, fixture.origin, "R3.6: another outcome than is due")
    }
  }

  /// Past its date the activity is not offered, and not fetched (R1.6).
  private func tryExpired(_ fixture: Fixture) throws(SegueError) {
    let date = fixture.origin.process.now.date + 4
    try fixture.origin.change(fixture.index) { (activity) throws(SegueError) in try activity.setExpirationDate(date) }
    fleet.advance(Self.publishTime)
    checkOffer(fixture.id, of: fixture.origin)
    let offer = fixture.viewer.engine?.offers[fixture.id]
    fleet.advance(5_000)
    checkGone(fixture.id)
    let id = random.identifier()
    if let offer { fixture.viewer.continue(offer, id) }
    fleet.advance(Self.publishTime)
    expect(fixture, id, .failed(.handoffFailed), nil)
    // It is saved nevertheless, and then no timer remains.
    fleet.advance(2 * Limits().saveDelay)
    let hasDates = fixture.origin.offers.contains { $0.description.expirationDate != nil }
    expect(
      hasDates || fixture.origin.engine?.nextDeadline == nil, fixture.origin, "R1.6: it has expired, and is waited for")
    try fixture.origin.change(fixture.index) { (activity) throws(SegueError) in try activity.setExpirationDate(nil) }
    fleet.advance(Self.publishTime)
    checkOffer(fixture.id, of: fixture.origin)
  }

  /// An app that may not see the activity does not get it, whatever it knows, and the origin does not notice (R6.2).
  private func tryForeign(_ fixture: Fixture) throws(SegueError) {
    guard let offer = fixture.viewer.engine?.offers[fixture.id] else { return }
    let identity = AppIdentity(
      secret: random.identifier(), bundleIdentifier: "com.example.foreign", name: "foreign", team: "FOREIGN",
      types: Self.types, isChooser: false)
    let foreign = try makeApp(identity, on: fixture.viewer.process.device)
    apps.append(foreign)
    fleet.advance(Self.publishTime)
    checkOffer(fixture.id, of: fixture.origin)
    let id = random.identifier()
    foreign.continue(offer, id)
    fleet.advance(500)
    expect(Fixture(origin: fixture.origin, viewer: foreign, id: fixture.id), id, .failed(.handoffFailed), nil)
    foreign.close()
  }
}
