// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueFleet

/// Scenarios of the quiescent phase with systems that refuse something.
extension CheckedWorkload {
  /// Refusals of the systems of both devices only cause delays.
  func tryStrained(_ fixture: Fixture) throws(SegueError) {
    let device = fixture.viewer.process.device
    for device in [fixture.origin.process.device, device] { device.refuseWrites(0.3, for: 2_000) }
    let id = begin(fixture)
    fleet.advance(Self.continuationTime)
    expect(fixture, id, .continued(isStale: false), .restored)
    device.exhaustDescriptors(for: 600)
    let late = try openLate(on: device)
    fleet.advance(400)
    expect(late.engine?.isReady == false, late, "a hub without a descriptor has accepted a connection")
    fleet.advance(InvariantChecker.agreementTime)
    checkOffer(fixture.id, of: fixture.origin)
    late.close()
  }

  /// A process that connects repeatedly uses no more than its share of descriptors, and shuts no app out.
  func tryCrowded(_ fixture: Fixture) throws(SegueError) {
    let device = fixture.origin.process.device
    // Its own connections and streams fit into the few descriptors.
    guard let hub = device.hub, hub.peerCount < DeviceResources.fewDescriptors / 4 else { return }
    device.limitDescriptors(for: 2_000)
    guard let crowd = ConnectionFlood(4 * DeviceResources.fewDescriptors, on: device) else { return }
    fleet.advance(10)
    expect(
      crowd.count <= DeviceResources.fewDescriptors / 4, fixture.origin, "one process takes all descriptors of a hub")
    let late = try openLate(on: device)
    fleet.advance(Self.publishTime)
    checkOffer(fixture.id, of: fixture.origin)
    expect(fixture, `continue`(fixture), .continued(isStale: false), .restored)
    late.close()
  }

  /// An app that sees all offers.
  private func openLate(on device: FleetDevice) throws(SegueError) -> ScriptedApp {
    let identity = AppIdentity(
      secret: random.identifier(), bundleIdentifier: "com.example.late", name: "late", team: "TEAM",
      types: Self.types, isChooser: false)
    let app = try makeApp(identity, on: device)
    apps.append(app)
    return app
  }
}
