import SegueEngine
import SegueModel

/// What is tried in calm with streams.
extension Story {
  /// What one side writes the other reads, and both hear that it was all, however often links break meanwhile (R7.2-R7.4).
  mutating func tryStreaming(_ scene: Scene) throws(SegueError) {
    guard let id = try openStream(scene) else { return }
    for _ in 0..<4 {
      fleet.advance(random.within(0, 300))
      for link in scene.origin.process.device.links { link.cut(fleet) }
      fleet.advance(random.within(0, 1_000))
    }
    fleet.advance(30_000)
    expectStream(scene, id)
  }

  /// What a hub holds is lost with it, and both sides hear so; within a device a stream needs no hub (R7.4).
  mutating func tryStreamHubDies(_ scene: Scene) throws(SegueError) {
    let side = random.chance(0.5) ? scene.origin : scene.viewer
    guard let hub = hubApp(side.process.device, scene), let id = try openStream(scene) else { return }
    hub.process.kill()
    // The hubs beyond wait for the link to come back.
    fleet.advance(65_000)
    expectStream(scene, id, mayBreak: !scene.isOnOneDevice)
  }

  /// A link that is silent for less than 60 s goes on; one that is for longer breaks its streams, at both ends (R7.4).
  mutating func tryStreamSilence(_ scene: Scene) throws(SegueError) {
    guard !scene.isOnOneDevice, let id = try openStream(scene) else { return }
    let isLong = random.chance(0.5)
    try fleet.partition(scene.origin.process.device, from: nil)
    // It is noticed after 30 s.
    fleet.advance(isLong ? 93_000 : random.within(1_000, 85_000))
    if isLong { expectStream(scene, id, mayBreak: true) }
    fleet.heal()
    fleet.advance(40_000)
    if !isLong { expectStream(scene, id) }
  }

  // MARK: Steps

  /// A stream with much under way in both directions, over a network that takes its time; nil: they have none.
  private mutating func openStream(_ scene: Scene) throws(SegueError) -> Identifier? {
    var id = random.identifier()
    while !ScriptedStream.Script(id, ofAsker: true).isLong || !ScriptedStream.Script(id, ofAsker: false).isLong {
      id = random.identifier()
    }
    expect(scene, `continue`(scene), .continued(isStale: false), .restored)
    fleet.advance(Self.continuedTime)
    guard let from = scene.viewer.lastContinued, from.offer.description.supportsContinuationStreams,
      from.offer.description.id == scene.id
    else { return nil }
    scene.viewer.streamEnds = []
    scene.origin.streamEnds = []
    scene.viewer.askStream(id, from)
    try fleet.network.setDelay(5, 40)
    for _ in 0..<1_000 where !(scene.viewer.stream(id)?.isThere ?? false && scene.origin.stream(id)?.isThere ?? false) {
      fleet.advance(1)
    }
    return id
  }

  /// Both sides have heard the end. What had come before it broke has ended, and not broken: `ScriptedStream.end`.
  private func expectStream(_ scene: Scene, _ id: Identifier, mayBreak: Bool = false) {
    for app in [scene.viewer, scene.origin] {
      claim(app.stream(id) == nil, app, "R7.4: a stream neither moves nor ends")
      let isRight = app.streamEnds == [.ended] || mayBreak && app.streamEnds == [.broken]
      claim(isRight, app, "R7.4: a stream has another end than is due")
    }
  }
}
