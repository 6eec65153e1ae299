import SegueEngine
import SegueModel

/// Scenarios of the quiescent phase with systems that refuse something.
extension Story {
  /// Refusals of the systems of both devices only cause delays.
  mutating func tryStrained(_ scene: Scene) throws(SegueError) {
    let device = scene.viewer.process.device
    for device in [scene.origin.process.device, device] { device.refuseWrites(0.3, for: 2_000) }
    let id = begin(scene)
    fleet.advance(Self.continuedTime)
    expect(scene, id, .continued(isStale: false), .restored)
    device.exhaustDescriptors(for: 600)
    let late = try openLate(on: device)
    fleet.advance(400)
    claim(late.engine?.isReady == false, late, "a hub without a descriptor has accepted a connection")
    fleet.advance(Fleet.agreementTime)
    checkOffer(scene.id, of: scene.origin)
    late.close()
  }

  /// A process that connects repeatedly uses no more than its share of descriptors, and shuts no app out.
  mutating func tryCrowded(_ scene: Scene) throws(SegueError) {
    let device = scene.origin.process.device
    // Its own connections and streams fit into the few descriptors.
    guard let hub = device.hub, hub.peerCount < DeviceResources.fewDescriptors / 4 else { return }
    device.limitDescriptors(for: 2_000)
    guard let crowd = Crowd(4 * DeviceResources.fewDescriptors, on: device) else { return }
    fleet.advance(10)
    claim(crowd.count <= DeviceResources.fewDescriptors / 4, scene.origin, "one process takes all descriptors of a hub")
    let late = try openLate(on: device)
    fleet.advance(Self.toldTime)
    checkOffer(scene.id, of: scene.origin)
    expect(scene, `continue`(scene), .continued(isStale: false), .restored)
    late.close()
  }

  /// An app that sees all offers.
  private mutating func openLate(on device: FleetDevice) throws(SegueError) -> ScriptedApp {
    let identity = AppIdentity(
      secret: random.identifier(), bundleIdentifier: "com.example.late", name: "late", team: "TEAM",
      types: Self.types, isChooser: false)
    let app = try ScriptedApp(identity, on: device, witness)
    apps.append(app)
    return app
  }
}
