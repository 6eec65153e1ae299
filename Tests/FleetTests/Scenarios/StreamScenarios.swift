// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

@testable import SegueFleet

/// Scenarios of the quiescent phase with streams, and with attachments, which use streams (R7.2-R7.4, R7.6).
extension CheckedWorkload {
  /// Each side reads what the other wrote, and learns that it is complete, however often links break (R7.2-R7.4).
  func tryStreaming(_ fixture: Fixture) throws(SegueError) {
    guard let id = try openStream(fixture) else { return }
    for _ in 0..<4 {
      fleet.advance(random.within(0, 300))
      for link in fixture.origin.process.device.links { link.cut(fleet) }
      fleet.advance(random.within(0, 1_000))
    }
    fleet.advance(30_000)
    expectStream(fixture, id)
  }

  /// Bytes in a hub are lost with it, and both sides learn that; within a device a stream needs no hub (R7.4).
  func tryStreamHubDies(_ fixture: Fixture) throws(SegueError) {
    let side = random.chance(0.5) ? fixture.origin : fixture.viewer
    guard let hub = hubApp(side.process.device, fixture), let id = try openStream(fixture) else { return }
    fleet.advance(random.within(0, 200))
    hub.process.kill()
    // The hubs beyond wait for the link to come back.
    fleet.advance(65_000)
    expectStream(fixture, id, mayBreak: !fixture.isOnOneDevice)
  }

  /// A link that is silent for less than 60 s resumes; a longer silence breaks its streams, at both ends (R7.4).
  func tryStreamSilence(_ fixture: Fixture) throws(SegueError) {
    guard !fixture.isOnOneDevice, let id = try openStream(fixture) else { return }
    let isLong = random.chance(0.5)
    if isLong { fleet.advance(random.within(0, 300)) }
    try fleet.partition(fixture.origin.process.device, from: nil)
    // The silence is noticed after 30 s.
    fleet.advance(isLong ? 93_000 : random.within(1_000, 85_000))
    if isLong { expectStream(fixture, id, mayBreak: true) }
    // A side that has read the end learns the status within a second, or that it is unknown (R7.3).
    let isUnderWay = [fixture.viewer, fixture.origin].allSatisfy { $0.stream(id).map { !$0.hasReadEnd } ?? false }
    fleet.heal()
    fleet.advance(40_000)
    if !isLong, isUnderWay { expectStream(fixture, id) }
  }

  /// Each side learns how the other ended, for all kinds of ends: `ScriptedStream.end`.
  func tryStreamEnds(_ fixture: Fixture) throws(SegueError) {
    guard let from = continued(fixture), from.offer.description.supportsContinuationStreams else { return }
    fixture.viewer.streamEnds = []
    fixture.origin.streamEnds = []
    try fleet.network.setDelay(1, 40)
    for number in 0..<6 {
      // Every other one ends on one side while the other side still writes.
      let id = name { number % 2 == 0 || $0.isLong && $1.end != .finish || $0.end != .finish && $1.isLong }
      fixture.viewer.askStream(id, from)
      fleet.advance(random.within(0, 30))
    }
    fleet.advance(10_000)
    for app in [fixture.viewer, fixture.origin] {
      expect(app.streams.isEmpty, app, "R7.4: a stream neither moves nor ends")
      expect(!app.streamEnds.contains(.broken), app, "R7.3: a stream has another end than is due")
    }
  }

  /// A stream whose process dies in the middle has not *ended* (R7.3).
  func tryStreamSideDies(_ fixture: Fixture) throws(SegueError) {
    guard let from = continued(fixture), from.offer.description.supportsContinuationStreams else { return }
    let id = longStream()
    fixture.viewer.streamEnds = []
    fixture.viewer.askStream(id, from)
    // It reads later, so that the origin is not finished.
    fixture.viewer.process.stall()
    fleet.advance(random.within(50, 500))
    guard let stream = fixture.origin.stream(id), stream.isThere else { return }
    // A hub may have all bytes, and deliver them.
    let ends: [StreamStatus] = stream.hasEnded ? [.ended, .broken] : [.broken]
    let hadHub = fixture.origin.process.hub != nil
    fixture.origin.process.kill()
    fleet.advance(random.within(0, 1_000))
    fixture.viewer.process.resume()
    // The hub beyond waits for the link to come back.
    fleet.advance(hadHub ? 65_000 : 5_000)
    expect(fixture.viewer.stream(id) == nil, fixture.viewer, "R7.4: a stream neither moves nor ends")
    // With the hub gone, too, it may not know the stream.
    let told = fixture.viewer.streamEnds
    let isRight = told.count == 1 && ends.contains(told[0]) || told.isEmpty && hadHub
    expect(isRight, fixture.viewer, "R7.3: whoever has died has not ended its stream")
  }

  /// A new hub knows which apps have died since it started, and which are still to register (R7.3).
  func tryStreamYoungHub(_ fixture: Fixture) throws(SegueError) {
    let (origin, viewer) = (fixture.origin, fixture.viewer)
    guard fixture.isOnOneDevice, let hub = hubApp(origin.process.device, fixture), let from = continued(fixture),
      from.offer.description.supportsContinuationStreams
    else { return }
    let diesLater = random.chance(0.5)
    let id = name { requester, origin in
      diesLater
        ? requester.isLong && origin.isLong : requester.end == .finish && origin.end == .close && origin.size < 10_000
    }
    viewer.streamEnds = []
    viewer.answers.readsStreams = false
    viewer.askStream(id, from)
    fleet.advance(100)
    guard viewer.stream(id)?.isThere ?? false else { return }
    hub.process.kill()
    if diesLater {
      fleet.advance(300)
      // If it has become the hub, the next one does not see it.
      if origin.process.hub == nil { origin.process.kill() }
    } else {
      origin.process.stall(for: 300)
    }
    fleet.advance(50)
    viewer.answers.readsStreams = true
    viewer.attend(to: id)
    guard origin.process.hub == nil else { return }
    // Sooner than its own timeout.
    fleet.advance(AppEngine.verdictTime - 200)
    expect(viewer.streamEnds == [diesLater ? .broken : .aborted(0)], viewer, "R7.3: a young hub knows it better")
  }

  /// An attachment arrives whole, whether or not its app supports streams, and that app does not notice (R7.6).
  func tryFetching(_ fixture: Fixture) throws(SegueError) {
    guard let from = continued(fixture) else { return }
    var ids: [Identifier] = []
    try fleet.network.setDelay(5, 40)
    for _ in 0..<3 {
      let id = random.identifier()
      ids.append(id)
      fixture.viewer.askStream(id, from, Message.AttachmentPart(name: "attachment", offset: 0))
      fleet.advance(random.within(0, 300))
    }
    fleet.advance(1_000)
    for link in fixture.origin.process.device.links { link.cut(fleet) }
    fleet.advance(30_000)
    let areWhole = ids.allSatisfy { history.isComplete($0) }
    expect(areWhole, fixture.viewer, "R7.6: an attachment did not come whole")
    expect(
      fixture.viewer.streams.isEmpty && fixture.origin.streams.isEmpty, fixture.origin, "R7.6: a stream stays open")
  }

  // MARK: Steps

  /// The name of a stream with much data in both directions.
  private func longStream() -> Identifier { name { requester, origin in requester.isLong && origin.isLong } }

  /// The name of a stream whose sides act in that way.
  private func name(
    _ isWanted: (_ requester: ScriptedStream.Script, _ origin: ScriptedStream.Script) -> Bool
  ) -> Identifier {
    while true {
      let id = random.identifier()
      if isWanted(ScriptedStream.Script(id, ofRequester: true), ScriptedStream.Script(id, ofRequester: false)) {
        return id
      }
    }
  }

  /// Opens a stream with much data in both directions, over a slow network; nil if there is none.
  private func openStream(_ fixture: Fixture) throws(SegueError) -> Identifier? {
    let id = longStream()
    guard let from = continued(fixture), from.offer.description.supportsContinuationStreams else { return nil }
    fleet.advance(Self.continuationTime)
    fixture.viewer.streamEnds = []
    fixture.origin.streamEnds = []
    fixture.viewer.askStream(id, from)
    try fleet.network.setDelay(5, 40)
    for _ in 0..<1_000
    where !(fixture.viewer.stream(id)?.isThere ?? false && fixture.origin.stream(id)?.isThere ?? false) {
      fleet.advance(1)
    }
    return id
  }

  /// Both sides know the end. If everything had arrived before the break, the stream has ended, not broken:
  /// `ScriptedStream.end`.
  private func expectStream(_ fixture: Fixture, _ id: Identifier, mayBreak: Bool = false) {
    for app in [fixture.viewer, fixture.origin] {
      expect(app.stream(id) == nil, app, "R7.4: a stream neither moves nor ends")
      let isRight = app.streamEnds == [.ended] || mayBreak && app.streamEnds == [.broken]
      expect(isRight, app, "R7.4: a stream has another end than is due")
    }
  }
}
