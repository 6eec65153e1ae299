// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueFleet

/// The end of each run for what apps leave (R2.5), in which nothing fails: what has to be offered is, what is left now
/// outlives its app and its agent, and what is withdrawn does not.
extension InboxWorkload {
  /// Milliseconds for an agent to come, and to know which apps are open.
  private static let restartTime: Int64 = 10_000

  func keepingPhase() throws(SegueError) {
    fleet.network = Network()
    for device in devices {
      guard let agent = agent(of: device) else { continue }
      checkTakenBack(device)
      check(device)
      let killed = try leave("com.example.paper", on: device)
      let closed = try leave("com.example.pen", on: device)
      killed.app.setForeground(false)
      fleet.advance(1_000)
      killed.app.process.kill()
      closed.app.close()
      fleet.advance(1_000)
      check(device, killed.activity, closed.activity)
      replace(agent)
      check(device, killed.activity, closed.activity)
      try fetch(closed.activity, on: device)
      self.agent(of: device)?.withdraw(killed.activity)
      fleet.advance(1_000)
      check(device, closed.activity, without: killed.activity)
      if let agent = self.agent(of: device) { replace(agent) }
      check(device, closed.activity, without: killed.activity)
      try supersede(closed.activity, of: "com.example.pen", on: device)
    }
  }

  /// Another process of an app makes an activity current for a second, in the first seconds of an agent: that ends what
  /// the app has left.
  private func supersede(_ activity: Identifier, of bundle: String, on device: FleetDevice) throws(SegueError) {
    guard let agent = agent(of: device) else { return }
    agent.kill()
    startAgent(on: device)
    let app = try open(bundle, on: device)
    app.becomeCurrent(fleet.drawIdentifier(), try Activity(type: Self.types[0]))
    fleet.advance(1_000)
    app.close()
    fleet.advance(Self.restartTime)
    check(device, without: activity)
  }

  private func leave(
    _ bundle: String, on device: FleetDevice
  ) throws(SegueError) -> (app: InboxApp, activity: Identifier) {
    let app = try open(bundle, on: device)
    let id = fleet.drawIdentifier()
    var activity = try activity()
    activity.keepsOffering = true
    try activity.attach(CollectedBytes.attachment("kept", size: 3_000))
    try activity.attach(CollectedBytes.attachment("not kept", size: UInt64(Limits.storedAttachments) + 1))
    app.becomeCurrent(id, activity)
    fleet.advance(1_000)
    return (app, id)
  }

  /// An app continues what the agent offers, and fetches its attachments.
  private func fetch(_ activity: Identifier, on device: FleetDevice) throws(SegueError) {
    let receiver = try open("com.example.pencil", on: device)
    fleet.advance(1_000)
    guard let offer = receiver.engine?.offers[activity] else {
      return receiver.process.complain("R2.5: what the agent offers is not seen")
    }
    receiver.continue(offer, fleet.drawIdentifier())
    fleet.advance(5_000)
    receiver.close()
    fleet.advance(1_000)
  }

  private func replace(_ agent: InboxAgent) {
    let device = agent.device
    agent.kill()
    startAgent(on: device)
    fleet.advance(Self.restartTime)
  }

  /// The agent offers what it has to, these activities among it, and others see them.
  private func check(_ device: FleetDevice, _ wanted: Identifier..., without withdrawn: Identifier? = nil) {
    guard let agent = agent(of: device) else { return fleet.report(device.name, "its agent does not live") }
    let owed = oracle.kept.owed(on: device)
    for activity in wanted where !owed.contains(activity) {
      fleet.report(device.name, "R2.5: what was left is not kept")
    }
    for activity in owed + wanted where !agent.offers(activity) {
      fleet.report(device.name, "R2.5: what was left is not offered")
    }
    let viewers = devices.flatMap { $0.processes }.filter { $0.isAlive && $0.engine != nil }
    for viewer in viewers {
      guard let offers = viewer.engine?.offers else { continue }
      for activity in wanted where viewer.device === device && offers[activity] == nil {
        viewer.complain("R2.5: what the agent offers is not seen")
      }
      if let withdrawn, offers[withdrawn] != nil { viewer.complain("R2.5: what was withdrawn is still offered") }
    }
    if let withdrawn, agent.offers(withdrawn) { fleet.report(device.name, "R2.5: what was withdrawn is offered") }
  }

  /// An app that has another activity current, and has told an agent so, has nothing left of the former one.
  private func checkTakenBack(_ device: FleetDevice) {
    let kept = oracle.kept.records(on: device)
    for app in apps where app.isAlive && app.process.device === device {
      guard let current = app.engine?.currentActivity else { continue }
      if kept.contains(where: { $0.app.id == app.identity.id && $0.activity != current }) {
        app.process.complain("R2.5: what an app has left is kept, and it has another activity current")
      }
    }
  }
}
