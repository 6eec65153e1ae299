import SegueEngine
import SegueModel
import SegueWire
import Testing

/// An app or a hub without an engine: it sends arbitrary messages.
final class RawPeer {
  private let world: World
  let number: HubEngine.PeerNumber
  private let link = Link(side: .connecting)
  /// Why the hub has said that it closes the connection.
  private(set) var goodbye: SegueError?
  /// All else that the hub has said, and the bytes that came on its channels.
  private(set) var heard: [Message] = []
  private(set) var byteCount = 0
  /// What the hub calls the session that may begin over this connection.
  private(set) var secretOfHub: Identifier?
  /// Sessions that the hub says it has with this one.
  private(set) var sessions: [Message.SharedSession] = []
  /// The decision of the hub: a session that resumes, or nil for a new one.
  private(set) var decision: (session: Identifier?, received: UInt64)?
  private(set) var explanations: [[Message.Explanation]] = []
  let secret: Identifier
  /// It takes all that it is sent.
  var grantsAll = false

  /// Messages to it about streams, and about links that it has requested.
  var streamAnswers: [Identifier: SegueError?] {
    heard.reduce(into: [:]) { if case .streamAnswer(let id, _, _, let error) = $1 { $0[id] = .some(error) } }
  }
  var linksDown: [UInt64: SegueError] {
    heard.reduce(into: [:]) { if case .linkDown(let number, let error) = $1 { $0[number] = error } }
  }
  /// The last list of each hub's offers that it was asked for.
  private(set) var lists: [Identifier: UInt64] = [:]
  /// Hubs that it was asked for a route to, and of which sequence.
  private(set) var sought: [Identifier: UInt64] = [:]

  private init(_ world: World) {
    self.world = world
    number = world.takeNumber()
    secret = world.identifier()
    world.links.append((number: number, send: { [weak self] in self?.hear($0) }, close: {}))
  }

  private func hear(_ bytes: [UInt8]) {
    link.receive(bytes)
    while let event = try? link.nextEvent() {
      if case .data(let channel, let bytes) = event {
        byteCount += bytes.count
        if grantsAll { link.grant(bytes.count, to: channel) }
      }
      guard case .message = event, let message = try? link.takeMessage(Message.decode) else { continue }
      switch message {
      case .goodbye(let error): goodbye = error
      case .state(_, _, let channel, _, _):
        try? link.accept(channel)
        heard.append(message)
      case .resume(let secret, let named): (secretOfHub, sessions) = (secret, named)
      case .proceed(let session, let received): decision = (session, received)
      case .explanation(_, let list, _): explanations.append(list)
      case .follow(let hub, let list): lists[hub] = list
      case .unfollow(let hub): lists[hub] = nil
      case .seek(let hub, let sequence): sought[hub] = sequence
      default: heard.append(message)
      }
    }
  }

  /// A connection for which the hub has no room.
  convenience init(turnedAwayIn world: World) {
    self.init(world)
    world.hub?.turnAway(number, world.now)
  }

  /// An app that registers.
  /// - Parameters:
  ///   - secret: nil: it is a new one.
  ///   - account: nil: it has a process of its own.
  convenience init(
    app name: String, as secret: Identifier? = nil, team: String = "TEAM", of account: Account? = nil, in world: World
  ) throws {
    self.init(world)
    world.hub?.connected(number, of: account, world.now)
    let identity = AppIdentity(
      secret: secret ?? world.identifier(), bundleIdentifier: "com.example.\(name)", name: name, team: team,
      types: ["com.example.note"], isChooser: false)
    try say(.hello(identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum))
  }

  /// The hub of another device.
  /// - Parameter saysWho: and what it knows of the other, which is nothing.
  convenience init(hubIn world: World, for attachment: LinkRequest? = nil, saysWho: Bool = true) throws {
    try self.init(hubIn: world, as: world.identifier(), for: attachment, saysWho: saysWho)
    if saysWho { try resume() }
  }

  /// - Parameter sessions: those that it says it has with the hub, and whether they have a connection.
  func resume(_ sessions: (Identifier, isConnected: Bool)...) throws {
    let named = sessions.map { Message.SharedSession(secret: $0.0, isConnected: $0.isConnected) }
    try say(.resume(secret: secret, sessions: named))
    world.settle()
  }

  /// The same, which has not said what it knows.
  convenience init(
    hubIn world: World, as id: Identifier, for attachment: LinkRequest? = nil, saysWho: Bool = true
  ) throws {
    self.init(world)
    world.hub?.connectedHub(number, for: attachment, secret: world.identifier(), world.now)
    if saysWho {
      try say(
        .link(
          HubIdentity(id: id, deviceName: "away"), version: ProtocolVersion.current, minimum: ProtocolVersion.minimum))
    }
  }

  /// Bytes that the hub keeps for it: it says of none that they came.
  var heldBytes: Int { world.hub?.link(of: number)?.heldBytes ?? 0 }

  var isConnected: Bool { world.hub?.link(of: number) != nil }

  func disconnect() {
    world.hub?.disconnected(number, world.now)
    world.settle()
  }

  /// The hub gets it, and does nothing else yet; several messages arrive in one piece.
  func say(_ messages: Message...) throws {
    for message in messages { link.send(try message.encoded()) }
    flush()
  }

  /// The same, with a descriptor.
  func say(_ message: Message, with descriptor: PassedDescriptor) throws {
    link.send(try message.encoded(), with: descriptor)
    flush(descriptor)
  }

  /// Bytes on the channel that `message` names, and an end with their number.
  func write(_ bytes: [UInt8], total: UInt64, _ message: (Link.Channel) -> Message) throws {
    let channel = link.open()
    link.send(try message(channel).encoded())
    link.write(bytes[...], to: channel)
    link.finish(channel, total: total)
    flush()
  }

  /// Opens the channel that `message` names; no byte of it follows.
  func open(_ message: (Link.Channel) -> Message) throws { try say(message(link.open())) }

  private func flush(_ descriptor: PassedDescriptor? = nil) {
    var bytes: [UInt8] = []
    while link.takeOutput({
      bytes += $0
      return $0.count
    }) {}
    world.hub?.receive(bytes, with: descriptor, from: number, world.now)
  }
}

extension World {
  /// An app asks for a link.
  func openLink(_ app: TestApp) throws -> LinkRequest {
    tell(app) { _ = $0.link(PassedDescriptor(), $1) }
    return try #require(hub?.takeAttachments().first)
  }

  /// Links with the raw hub of another device, which has said how it is reached.
  func linkHub() throws -> (peer: RawPeer, id: Identifier) {
    let id = identifier()
    let peer = try RawPeer(hubIn: self, as: id)
    try peer.resume()
    try peer.say(.route(to: id, Route([id], sequence: 1), isSought: false))
    settle()
    return (peer, id)
  }
}

extension OfferDescription {
  init(_ id: Identifier, _ title: String, type: String = "com.example.note", supportsStreams: Bool = false) {
    self.init(
      id: id, type: type, title: title, payloadVersion: 0, sizeHint: 0, expirationDate: nil,
      supportsContinuationStreams: supportsStreams)
  }
}

extension Message {
  /// An offer of an app of another device.
  /// - Parameter names: of app and device.
  static func offered(
    _ id: Identifier, _ title: String, by origin: Identifier = Identifier(high: 7, low: 7), of hub: Identifier,
    _ number: UInt64 = 1, type: String = "com.example.note", names: String = "away"
  ) -> Message {
    let offer = Offer(
      description: OfferDescription(id, title, type: type), origin: origin, appName: names, bundleIdentifier: names,
      deviceName: names, rank: 1, activatedAt: 0)
    let version = OffersVersion(hub: hub, number: number)
    return .offer(
      offer, OfferTiming(age: 0, remaining: nil), OfferOrigin(team: "TEAM", activation: 1, version: version))
  }
}
