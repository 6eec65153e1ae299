// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// Apps in sandboxes at a hub (R13.8): what they may not do (A29), and the same without the attack.
@Suite struct SandboxedAppTests {
  private let world = World(hasHub: true)

  private func process(_ identifiers: [String]?) -> FleetProcess {
    let process = world.process("boxed")
    process.sandbox = identifiers.map { Sandbox(identifiers: $0) }
    return process
  }

  private func hello(
    _ bundle: String, team: String = "TEAM", chooser: Bool = false, in box: [String]?
  ) throws -> RawPeer {
    let peer = try RawPeer(in: world, of: process(box))
    let identity = AppIdentity(
      secret: world.identifier(), bundleIdentifier: bundle, name: bundle, team: team, types: ["com.example.note"],
      isChooser: chooser)
    try peer.say(.hello(identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum))
    return peer
  }

  private func titles(_ peer: RawPeer) -> [String?] {
    peer.heard.compactMap { if case .offer(let offer, _, _) = $0 { offer.description.title } else { nil } }
  }

  @Test func `A29: an app in a sandbox claims no other bundle`() throws {
    let attacker = try hello("com.example.bank", in: ["org.example.App"])
    #expect(attacker.goodbye?.status == .notAllowed && !attacker.isConnected)
    #expect(try hello("org.example.App", in: ["org.example.App"]).isConnected)
    #expect(try hello("com.example.bank", in: nil).isConnected)
    #expect(try hello("com.example.bank", in: []).isConnected, "the hub cannot ask which app it is")
  }

  @Test func `A29: an app in a sandbox is no chooser`() throws {
    for box in [["org.example.App"], []] {
      let attacker = try hello("org.example.App", chooser: true, in: box)
      #expect(attacker.goodbye?.status == .notAllowed && !attacker.isConnected)
    }
    #expect(try hello("org.example.App", chooser: true, in: nil).isConnected)
  }

  private func offer(_ title: String, isPublic: Bool, by app: TestApp) throws -> Identifier {
    let id = world.identifier()
    var activity = try Activity(type: "com.example.note")
    try activity.setTitle(title)
    activity.setPublic(isPublic)
    app.add(activity, as: id)
    world.tell(app) { $0.becomeCurrent(id, $1) }
    world.wait(200)
    return id
  }

  @Test func `A29: public offers of other teams are not for an app in a sandbox, nor pulled by it`() throws {
    let editor = world.open("editor")
    let before = try offer("before", isPublic: true, by: editor)
    let boxed = try hello("org.example.App", team: "OTHER", in: ["org.example.App"])
    let free = try hello("org.example.App", team: "OTHER", in: nil)
    let after = try offer("after", isPublic: true, by: editor)
    #expect(titles(boxed) == [] && titles(free) == ["before", "after"])
    for (peer, isServed) in [(boxed, false), (free, true)] {
      for activity in [before, after] {
        let origin = editor.engine.identity.id
        let attempt = Message.Continuation(id: world.identifier(), origin: origin, activity: activity)
        _ = editor.takeEvents()
        try peer.say(.fetch(attempt, milliseconds: 5_000, receiver: nil))
        #expect(editor.takeEvents().contains("will_save") == (isServed && activity == after))
      }
    }
    // Those of its own team are for it, public or not.
    let ours = try hello("org.example.App", in: ["org.example.App"])
    #expect(titles(ours) == ["after"])
    _ = try offer("private to the team", isPublic: false, by: editor)
    #expect(titles(ours).last == "private to the team")
    #expect(titles(boxed) == [])
  }

  @Test func `A29: a link, which carries all offers, is not for an app in a sandbox`() throws {
    for (box, isAllowed) in [(["org.example.App"], false), (nil, true)] {
      let peer = try hello("org.example.App", in: box)
      try peer.say(.openLink(1), with: FleetDescriptor(world.process("far").makeSockets().1))
      #expect((peer.linksDown[1]?.status == .notAllowed) == !isAllowed)
    }
  }
}
