// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueFleet

/// Scenarios of the quiescent phase in which the origin takes the state of its activity back (R3.10).
extension CheckedWorkload {
  /// The changes of the receiver come back, also those that its user did not report, and although links break.
  func tryResumingBack(_ fixture: Fixture) throws(SegueError) {
    let (origin, viewer) = (fixture.origin, fixture.viewer)
    guard continued(fixture) != nil else { return }
    let id = begin(fixture, saving: nextNumber())
    let number = nextNumber()
    try viewer.editKept(viewer.activities.kept.count - 1, number, isReported: random.chance(0.5))
    // The first may have asked before that.
    fleet.advance(Self.continuationTime)
    expect(history.cameBack(id) != nil, origin, "R3.10: the state does not come back")
    let second = resumeBack(fixture)
    for device in devices { for link in device.links where random.chance(0.5) { link.cut(fleet) } }
    fleet.advance(10_000)
    // A hub between the two may get the request while it does not see the receiver.
    let isLost = history.cameBack(second) == nil && origin.failures.last?.status == .connectionUnavailable
    guard fixture.isDirect || !isLost else { return }
    expect(history.cameBack(second) == number, origin, "R3.10: another state comes back than there was")
    expect(origin.current.flatMap { ScriptedApp.number(of: $0) } == number, origin, "R3.10: it is not taken over")
    checkOffer(fixture.id, of: origin)
  }

  /// If the receiver does not answer, has released the activity, or is gone, the origin learns why, and keeps its
  /// state.
  func tryResumingFails(_ fixture: Fixture) throws(SegueError) {
    let (origin, viewer) = (fixture.origin, fixture.viewer)
    guard continued(fixture) != nil else { return }
    let number = origin.current.flatMap { ScriptedApp.number(of: $0) }
    try viewer.editKept(viewer.activities.kept.count - 1, nextNumber(), isReported: true)
    viewer.answers.saves = false
    let failures = origin.failures.count
    let late = resumeBack(fixture, timeout: 2_000)
    fleet.advance(1_900)
    expect(origin.failures.count == failures, origin, "R3.10: it ends before its deadline")
    fleet.advance(200)
    expectFailure(fixture, late, .remoteApplicationTimedOut)
    viewer.answers.saves = true
    viewer.answer()
    if random.chance(0.5) {
      viewer.releaseKept(viewer.activities.kept.count - 1)
      fleet.advance(Self.publishTime)
      let released = resumeBack(fixture)
      fleet.advance(Self.publishTime)
      expectFailure(fixture, released, .handoffFailed)
    } else {
      let hadHub = viewer.process.hub != nil
      viewer.process.kill()
      fleet.advance(hadHub ? Limits().continuation : Self.publishTime)
      let gone = resumeBack(fixture)
      // Whether another device comes back is unknown.
      fleet.advance(hadHub ? Limits().continuation + 100 : 2 * Self.continuationTime)
      expectFailure(fixture, gone, .connectionUnavailable, hadHub ? .remoteApplicationTimedOut : nil)
    }
    expect(origin.current.flatMap { ScriptedApp.number(of: $0) } == number, origin, "R3.10: a failure changes it")
  }

  /// The origin begins to take the state back, and the receiver saves this number meanwhile.
  private func begin(_ fixture: Fixture, saving number: Int) -> Identifier {
    fixture.viewer.answers.numberOnSave = number
    defer { fixture.viewer.answers.numberOnSave = nil }
    let id = resumeBack(fixture)
    fleet.advance(random.within(0, 200))
    return id
  }

  private func resumeBack(_ fixture: Fixture, timeout: Int64? = nil) -> Identifier {
    let id = random.identifier()
    let rejection = fixture.origin.resumeBack(fixture.index, id, timeout: timeout)
    expect(rejection == nil, fixture.origin, "R3.10: there is an app that has continued it")
    return id
  }

  private func expectFailure(_ fixture: Fixture, _ id: Identifier, _ status: Status, _ other: Status? = nil) {
    expect(history.cameBack(id) == nil, fixture.origin, "R3.10: a state comes back, and should not")
    let end = fixture.origin.failures.last?.status
    expect(end == status || other != nil && end == other, fixture.origin, "R3.10: it fails for another reason")
  }
}
