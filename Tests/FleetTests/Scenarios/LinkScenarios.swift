// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueFleet

/// Scenarios of the quiescent phase with links that apps have made.
extension CheckedWorkload {
  /// The app that has made a link learns when it is established and when it has ended; the link ends with the app.
  func tryLinking(_ fixture: Fixture) throws(SegueError) {
    let (origin, viewer) = (fixture.origin, fixture.viewer)
    origin.ask(nil)
    fleet.advance(Self.publishTime)
    expect(origin.linkedWith == nil && origin.linkEnd?.status == .malformed, origin, "a link out of nothing")
    guard let link = origin.process.device.link(to: viewer.process.device) else { return }
    try fleet.setLinked(origin.process.device, viewer.process.device, false)
    fleet.advance(Self.publishTime)
    let areBoth = random.chance(0.5)
    origin.ask(link)
    if areBoth { viewer.ask(link) }
    fleet.advance(InvariantChecker.agreementTime)
    checkOffer(fixture.id, of: origin)
    expect(Text.isSame(origin.linkedWith, viewer.process.device.name), origin, "not linked as it has asked")
    expect(origin.linkEnd == nil, origin, "a link ends that nobody has ended")
    if areBoth {
      let isRight = Text.isSame(viewer.linkedWith, origin.process.device.name) && viewer.linkEnd == nil
      expect(isRight, viewer, "not linked as it has asked")
    }
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
    switch random.below(4) {
    case 0: link.cut(fleet)
    case 1: try fleet.partition(origin.process.device, from: viewer.process.device)
    case 2:
      guard let hub = hubApp(origin.process.device, fixture) else { return }
      hub.process.kill()
    default:
      let connection = link.connection
      let hadHub = origin.process.hub != nil
      origin.close()
      fleet.advance(100)
      let hasEnded = !link.isJoined || link.connection !== connection
      expect(hasEnded && (!areBoth || viewer.linkEnd != nil), viewer, "a link outlives its app")
      // Whoever has left the hub before its last message keeps the offer that long (R2.8).
      if hadHub { fleet.advance(1_500) }
      return checkGone(fixture.id)
    }
    fleet.advance(link.isSilent ? InvariantChecker.silenceTime : Self.publishTime)
    expect(origin.linkEnd != nil, origin, "it does not hear that its link has ended")
    if link.isSilent { fleet.heal() }
    fleet.advance(InvariantChecker.agreementTime)
    checkOffer(fixture.id, of: origin)
  }
}
