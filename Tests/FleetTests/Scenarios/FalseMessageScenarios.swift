// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

@testable import SegueFleet

/// Scenarios of the quiescent phase with apps that send false messages.
extension CheckedWorkload {
  /// A third app sends messages about two others, whose names it knows: they do not notice.
  func tryLying(_ fixture: Fixture) throws(SegueError) {
    let liars = apps.filter { $0.isAwake && $0 !== fixture.origin && $0 !== fixture.viewer }
    guard !liars.isEmpty, let offer = fixture.viewer.engine?.offers[fixture.id] else { return }
    fixture.origin.answers.saves = false
    let id = begin(fixture)
    fleet.advance(Self.publishTime)
    let continuation = Message.Continuation(id: id, origin: offer.origin, activity: fixture.id)
    try lie(of: continuation, asked: 1, fixture, liars)
    expect(fixture, id, nil, nil)
    fixture.origin.answers.saves = true
    fixture.origin.answer()
    fleet.advance(Self.continuationTime)
    expect(fixture, id, .continued(isStale: false), .restored)
    guard let from = fixture.viewer.lastContinued, from.continuation == id else { return }
    fixture.origin.answers.continues = false
    let number = ask(fixture, from, 100)
    fleet.advance(Self.publishTime)
    try lie(of: continuation, asked: number, fixture, liars)
    answerHeld(fixture.origin)
    fleet.advance(Self.publishTime)
    expectAnswer(fixture, number, nil)
    checkOffer(fixture.id, of: fixture.origin)
  }

  /// An origin sends an activity of another type than it has offered: `continue` never gets that (R6.2).
  func tryDisguised(_ fixture: Fixture) throws(SegueError) {
    let (origin, viewer) = (fixture.origin, fixture.viewer)
    let disguised = try ScriptedApp.activity("com.example.disguised", nextNumber(), size: random.below(200))
    let document = try ActivityDocument.encode(disguised, Containers.none)
    origin.answers.saves = false
    try change(fixture)
    let id = begin(fixture)
    fleet.advance(Self.publishTime)
    guard let link = origin.engine?.link else { return }
    let channel = link.open()
    origin.process.does("disguises an activity")
    let state = Message.state(
      id, to: viewer.identity.id, channel: channel, size: UInt64(document.count), isStale: false, why: "")
    link.send(try state.encoded())
    link.write(document[...], to: channel)
    link.finish(channel)
    // The bytes that it has sent go out.
    origin.perform { _, _ in }
    fleet.advance(Self.publishTime)
    expect(fixture, id, .failed(.malformed), .failed)
    origin.answers.saves = true
    origin.answer()
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
  }

  /// - Parameter number: of the viewer's request.
  private func lie(
    of continuation: Message.Continuation, asked number: UInt64, _ fixture: Fixture, _ liars: [ScriptedApp]
  ) throws(SegueError) {
    for _ in 0..<6 {
      let liar = liars[random.below(liars.count)]
      guard let link = liar.engine?.link else { continue }
      let lie = Lie.allCases[random.below(Lie.allCases.count)]
      liar.process.does("lies", lie.rawValue)
      link.send(try message(lie, of: continuation, asked: number, fixture, liar, link).encoded())
      // Its messages are sent.
      liar.perform { _, _ in }
      fleet.advance(random.within(0, 50))
    }
    fleet.advance(Self.publishTime)
  }

  /// An app sends messages about other apps' state, or false ones.
  private enum Lie: String, CaseIterable {
    case hello, withdraw, fetch, state, refused, outcome, outcomeAck, peerLost
    case request, response, stream, streamAnswer, streamStatus
  }

  private func message(
    _ lie: Lie, of continuation: Message.Continuation, asked number: UInt64, _ fixture: Fixture, _ liar: ScriptedApp,
    _ link: FramedConnection
  ) -> Message {
    let error = SegueError(.handoffFailed, "a lie")
    let viewer = fixture.viewer.identity.id
    switch lie {
    case .withdraw: return .withdraw(continuation.activity)
    case .state: return .state(continuation.id, to: viewer, channel: link.open(), size: 3, isStale: false, why: "")
    case .refused: return .refused(continuation.id, to: viewer, error)
    case .outcome: return .outcome(continuation, .declined, nil, receiver: nil)
    case .outcomeAck: return .outcomeAck(continuation.id, to: viewer)
    case .peerLost: return .peerLost(continuation.id)
    case .request:
      return .request(number, continuation, from: viewer, milliseconds: 9_000, channel: link.open(), size: 9)
    case .response: return .response(number, continuation, to: viewer, channel: 0, size: 0, error)
    case .stream: return .stream(random.identifier(), continuation, from: viewer, channel: 0, attachment: nil)
    case .streamAnswer: return .streamAnswer(random.identifier(), continuation, channel: 0, error)
    case .streamStatus: return .streamStatus(random.identifier(), continuation, to: viewer, .aborted(1))
    case .fetch: return .fetch(continuation, milliseconds: 9_000, receiver: nil)
    // The hub disconnects it, and it connects again.
    case .hello: return .hello(liar.identity, version: 1, minimum: 1)
    }
  }
}
