import SegueEngine
import SegueModel
import SegueWire

/// An app or a hub without an engine: it says what it wants, whatever it hears.
final class RawPeer {
  private let world: World
  private let number: HubEngine.PeerNumber
  private let link = Link(side: .connecting)
  /// Why the hub has said that it closes the connection.
  private(set) var goodbye: SegueError?
  /// What the hub has said is its number for what it shares with this one.
  private(set) var numberOfHub: UInt64?
  /// All else that the hub has said, and the bytes that came on its channels.
  private(set) var heard: [Message] = []
  private(set) var byteCount = 0

  private init(_ world: World) {
    self.world = world
    number = world.takeNumber()
    world.links.append((number: number, send: { [weak self] in self?.hear($0) }, close: {}))
  }

  private func hear(_ bytes: [UInt8]) {
    link.receive(bytes)
    while let event = try? link.nextEvent() {
      if case .data(_, let bytes) = event { byteCount += bytes.count }
      guard case .message = event, let message = try? link.takeMessage(Message.decode) else { continue }
      switch message {
      case .goodbye(let error): goodbye = error
      case .resume(let mine, _, _): numberOfHub = mine
      case .state(_, _, let channel, _, _):
        try? link.accept(channel)
        heard.append(message)
      default: heard.append(message)
      }
    }
  }

  /// An app that registers.
  /// - Parameter secret: nil: it is a new one.
  convenience init(
    app name: String, as secret: Identifier? = nil, team: String = "TEAM", in world: World
  ) throws {
    self.init(world)
    world.hub?.connected(number, world.now)
    let identity = AppIdentity(
      secret: secret ?? world.identifier(), bundleIdentifier: "com.example.\(name)", name: name, team: team,
      types: ["com.example.note"], isChooser: false)
    try say(.hello(identity, version: 1, minimum: 1))
  }

  /// The hub of another device.
  /// - Parameter saysWho: and what it knows of the other, which is nothing.
  convenience init(hubIn world: World, for attachment: LinkRequest? = nil, saysWho: Bool = true) throws {
    try self.init(hubIn: world, as: world.identifier(), for: attachment, saysWho: saysWho)
    if saysWho { try say(.resume(mine: 1, yours: 0, received: 0)) }
  }

  /// The same, which has not said what it knows.
  convenience init(
    hubIn world: World, as id: Identifier, for attachment: LinkRequest? = nil, saysWho: Bool = true
  ) throws {
    self.init(world)
    world.hub?.connectedHub(number, for: attachment, world.now)
    if saysWho { try say(.link(HubIdentity(id: id, deviceName: "away"), version: 1, minimum: 1)) }
  }

  var isConnected: Bool { world.hub?.link(of: number) != nil }

  func disconnect() {
    world.hub?.disconnected(number, world.now)
    world.settle()
  }

  /// The hub hears it, and does nothing else yet; several messages come in one piece.
  func say(_ messages: Message...) throws {
    for message in messages { link.send(try message.encoded()) }
    var bytes: [UInt8] = []
    while link.takeOutput({
      bytes += $0
      return $0.count
    }) {}
    world.hub?.receive(bytes, from: number, world.now)
  }
}
