// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// A hub that an agent carries, as its apps see it (docs/protocol.md, "Versions").
@Suite struct AgentHubTests {
  private let agent = AgentDescription(version: "1.2.3", capabilities: 5)

  private func welcomed(version: UInt64, _ agent: AgentDescription?) throws -> RawHub {
    let hub = try RawHub(welcoming: false)
    hub.world.device.admitsHubs = true
    try hub.say(.welcome(version: version, generation: 7, deviceName: "here", agent: agent))
    return hub
  }

  @Test func `the welcome says that an agent carries the hub, and which`() throws {
    let hub = try welcomed(version: ProtocolVersion.current, agent)
    #expect(hub.app.engine.hubGeneration == 7 && hub.departure == nil)
    #expect(hub.app.engine.hubAgent?.version == "1.2.3" && hub.app.engine.hubAgent?.capabilities == 5)
    let other = try welcomed(version: ProtocolVersion.current, nil)
    #expect(other.app.engine.hubGeneration == 7 && other.app.engine.hubAgent == nil)
  }

  @Test func `an app takes over from an app of an older version, and from no agent`() throws {
    let old = try welcomed(version: 1, nil)
    #expect(old.app.process.hub != nil, "an app would serve newer ones for as long as it runs")
    let hub = try welcomed(version: 1, agent)
    #expect(hub.departure?.status == .unsupportedVersion && hub.app.engine.hubGeneration == nil)
    #expect(hub.app.process.hub == nil, "an agent is superseded")
  }

  @Test(arguments: [
    (1, false, "older"), (2, false, "older"), (4, false, "older"), (5, false, "spoken"), (6, false, "newer"),
    (1, true, "foreign"), (2, true, "foreign"), (3, true, "spoken"), (4, true, "spoken"), (5, true, "spoken"),
    (6, true, "newer"),
  ])
  func `an app with a newer library speaks the agent's version`(_ version: UInt64, _ isAgent: Bool, _ fit: String) {
    #expect("\(ProtocolVersion.fit(of: version, isAgent: isAgent, supported: 3...5))" == fit)
  }

  @Test func `the hub of an agent describes it to each app that it welcomes`() throws {
    let world = World()
    _ = world.startAgent()
    let app = try RawPeer(app: "app", in: world)
    guard case .welcome(_, 1, _, let described?, nil)? = app.heard.first else {
      return #expect(Bool(false), "it says nothing of the agent")
    }
    #expect(described.version == "1.2.3" && described.capabilities == 5)
  }
}

/// The folders of the user, which the agent tells apps (R13.4).
@Suite struct ToldFoldersTests {
  private func text(_ identifiers: String...) -> [UInt8] { identifiers.flatMap { Array("\($0)\t/\($0)\n".utf8) } }

  @Test func `R13.4: apps hear of them when they register, and at each change`() throws {
    let world = World()
    _ = world.startAgent()
    let early = world.open("early")
    #expect(early.folders.isEmpty, "the agent does not know them yet")
    world.hub!.setFolders(text("notes"), world.now)
    world.settle()
    let late = world.open("late")
    #expect(early.folders == [["notes"]] && late.folders == [["notes"]])
    world.hub!.setFolders(text("notes"), world.now)
    world.hub!.setFolders(text("notes", "src"), world.now)
    world.hub!.setFolders([], world.now)
    world.device.hub?.flush()
    world.settle()
    #expect(early.folders == [["notes"], ["notes", "src"], []])
  }

  @Test func `R13.4: a container that the app registers itself comes first`() throws {
    let world = World(hasHub: true)
    let settings = try AppSettings(bundleIdentifier: "com.example.editor")
    let app = App(settings, in: FleetEnvironment(on: world.device, SingleThread()), hasSystemClock: false)
    try app.add(Container(identifier: "notes", folder: "/own", realFolder: nil))
    app.foldersAre(UserFolders(Array("notes\t/notes\nother\t/own\nsrc\t/src\n".utf8)))
    func folder(_ identifier: String) -> [UInt8]? { app.currentContainers[identifier]?.folder }
    #expect(folder("notes") == Array("/own".utf8) && folder("other") == nil && folder("src") == Array("/src".utf8))
    try app.removeContainer("notes")
    #expect(folder("notes") == Array("/notes".utf8) && folder("other") == Array("/own".utf8))
  }

  @Test func `R13.4: a hub that an app carries has no say in them`() throws {
    let hub = try RawHub()
    try hub.say(.folders(text("notes")))
    #expect(hub.app.folders.isEmpty && hub.departure == nil)
    let world = World(hasHub: true)
    world.hub!.setFolders(text("notes"), world.now)
    #expect(world.open("app").folders.isEmpty)
  }

  @Test func `an app that sends folders changes nothing`() throws {
    let world = World()
    _ = world.startAgent()
    let peer = try RawPeer(app: "raw", in: world)
    try peer.say(.folders(text("mine")))
    #expect(world.open("app").folders.isEmpty)
  }
}

/// The manifest of an app holds while the app runs, if an agent carries the hub (R6.1).
@Suite struct RunningManifestTests {
  private let manifest = AppManifest(
    name: "Notes", team: "TEAM", types: ["com.example.note", "com.example.list"],
    documents: [AppManifest.Document(role: .editor, contentType: "text/plain", activityType: "com.example.text")])

  private func world() -> World {
    let world = World()
    _ = world.startAgent()
    world.hub!.manifests = { [manifest] in $0.hasSuffix(".notes") ? manifest : nil }
    return world
  }

  @Test func `an app learns from the welcome of the agent what its manifest says, once, before it is ready`() throws {
    let world = world()
    let notes = world.open("notes", types: ["com.example.own"], team: "com.example.notes")
    #expect(notes.takeEvents() == ["manifest", "ready"])
    let identity = notes.engine.identity
    #expect(identity.name == "Notes" && identity.team == "TEAM")
    #expect(identity.types == ["com.example.own", "com.example.note", "com.example.list", "com.example.text"])
    #expect(notes.engine.knowsManifest)
    let other = world.open("other")
    #expect(other.takeEvents() == ["ready"] && other.engine.knowsManifest && other.engine.identity.name == "other")
  }

  @Test func `the hub counts what the manifest says, for what the app sees and for what it offers (R2.6)`() throws {
    let world = world()
    let editor = world.open("editor", types: [], team: "TEAM")
    let (text, note) = (Identifier(high: 7, low: 1), Identifier(high: 7, low: 2))
    editor.add(try Activity(type: "com.example.text"), as: text)
    world.tell(editor) { $0.becomeCurrent(text, $1) }
    let notes = world.open("notes", types: [], team: "com.example.notes")
    #expect(notes.takeEvents() == ["manifest", "appeared com.example.text", "ready"])
    notes.add(try Activity(type: "com.example.note"), as: note)
    world.tell(notes) { $0.becomeCurrent(note, $1) }
    let viewer = world.open("viewer", types: ["com.example.note"], team: "TEAM")
    #expect(viewer.engine.offers.all.map { $0.appName } == ["Notes"])
  }

  @Test func `only the first welcome of an agent adds, and the next hub hears of it, too`() throws {
    let world = World(hasHub: true)
    let notes = world.open("notes", types: [], team: "com.example.notes")
    #expect(notes.takeEvents() == ["ready"] && !notes.engine.knowsManifest, "no agent has answered yet")
    _ = world.startAgent()
    world.hub!.manifests = { [manifest] _ in manifest }
    // Registered before the hub knew of manifests: that was the first welcome.
    world.wait(5_000)
    #expect(notes.manifests.isEmpty && notes.engine.knowsManifest)
    let late = world.open("notes", types: [], team: "com.example.notes")
    #expect(late.manifests.count == 1)
    world.killAgent()
    world.startHub()
    world.wait(5_000)
    #expect(late.manifests.count == 1 && late.engine.identity.team == "TEAM")
    #expect(world.peer(of: late)?.app?.types.count == 3, "a hub without manifests hears it from the app")
    _ = world.startAgent()
    world.hub!.manifests = { _ in AppManifest(name: nil, team: "OTHER", types: [], documents: []) }
    world.wait(5_000)
    #expect(late.manifests.count == 1 && late.engine.identity.team == "TEAM")
  }

  @Test(arguments: [false, true])
  func `R6.1: a manifest that changes while an app is open counts when it opens again`(isDescribed: Bool) throws {
    let world = World()
    _ = world.startAgent()
    world.hub!.manifests = { [manifest] _ in isDescribed ? manifest : nil }
    let notes = world.open("notes", types: ["com.example.own"], team: "com.example.notes")
    let editor = world.open("editor", types: [], team: isDescribed ? "TEAM" : "com.example.notes")
    let id = Identifier(high: 7, low: 1)
    editor.add(try Activity(type: "com.example.new"), as: id)
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    let (identity, types) = (notes.engine.identity, isDescribed ? 4 : 1)
    #expect(identity.types.count == types && notes.engine.offers.all.isEmpty)
    // It is installed, or changes, and the app connects again: it says that it has heard of a manifest.
    var asked = 0
    world.hub!.manifests = { _ in
      asked += 1
      return AppManifest(name: "Newer", team: nil, types: ["com.example.new"], documents: [])
    }
    let generation = try #require(notes.engine.hubGeneration)
    notes.process.driver?.disconnect(world.now)
    notes.process.seek(.seek(minimum: generation, after: 0))
    world.settle()
    world.wait(5_000)
    let known = try #require(world.peer(of: notes)?.app)
    #expect(known.types == identity.types && known.team == identity.team && known.name == identity.name)
    #expect(notes.engine.isReady && notes.engine.offers.all.isEmpty && notes.manifests.count == (isDescribed ? 1 : 0))
    #expect(asked == 0, "the hub looks for its manifest again")
    world.close(notes)
    let again = world.open("notes", types: ["com.example.own"], team: isDescribed ? "TEAM" : "com.example.notes")
    #expect(again.engine.identity.types == ["com.example.own", "com.example.new"])
  }

  @Test func `R6.1: what a later agent says of the manifest adds nothing`() throws {
    let hub = try RawHub()
    let context = AppContext(hub.app.engine.identity, Limits(), hub.app)
    context.heard(manifest)
    context.holdManifest()
    let types = context.identity.types
    #expect(types.contains("com.example.list") && hub.app.manifests.count == 1)
    context.heard(AppManifest(name: "Newer", team: "OTHER", types: ["com.example.new"], documents: []))
    context.holdManifest()
    #expect(context.identity.types == types && context.identity.name == "Notes" && hub.app.manifests.count == 1)
  }

  @Test func `what a manifest adds fits into one message, however long it is`() throws {
    let long = AppManifest(
      name: String(repeating: "n", count: 255), team: String(repeating: "t", count: 255),
      types: (0..<128).map { "\($0)" + String(repeating: "a", count: 250) },
      documents: (0..<90).map {
        AppManifest.Document(
          role: .viewer, contentType: "\($0)" + String(repeating: "c", count: 250), activityType: "com.example.d")
      })
    let world = World()
    _ = world.startAgent()
    world.hub!.manifests = { _ in long }
    let app = world.open("app", types: (0..<128).map { "\($0)" + String(repeating: "b", count: 250) })
    #expect(app.manifests.count == 1 && app.engine.isReady)
    let size = app.engine.identity.types.reduce(0) { $0 + $1.utf8.count }
    #expect(size <= Limits.typesBytes && app.engine.identity.types.count <= Limits.typesPerApp)
  }
}
