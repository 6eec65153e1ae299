// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire
import Testing

@testable import SegueFleet

/// An app or a hub without an engine: it sends arbitrary messages.
final class RawPeer: WorldParticipant {
  /// Descriptors that came.
  private var descriptors: [PassedDescriptor] = []
  private let world: World
  let process: FleetProcess
  private let connection: Connection
  private let link = FramedConnection(side: .connecting)
  /// Why the hub has said that it closes the connection.
  private(set) var goodbye: SegueError?
  /// All else that the hub has said, and the bytes that came on its channels.
  private(set) var heard: [Message] = []
  private(set) var byteCount = 0
  /// The hub's secret of the session that may begin over this connection.
  private(set) var secretOfHub: Identifier?
  /// Sessions that the hub says it has with this one.
  private(set) var sessions: [Message.SharedSession] = []
  /// The decision of the hub: a session that resumes, or nil for a new one.
  private(set) var decision: (session: Identifier?, received: UInt64)?
  private(set) var explanations: [[Message.Explanation]] = []
  /// The other apps that may see what it has asked about, as the last explanation counts them.
  private(set) var appCount: UInt64?
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

  /// Forgets that it was asked for a route to a hub.
  func forgetSought(_ hub: Identifier) { sought[hub] = nil }

  private init(_ connection: Connection, of process: FleetProcess, in world: World) {
    self.world = world
    self.connection = connection
    self.process = process
    secret = world.identifier()
    world.add(self)
    world.settle()
  }

  /// An app that says nothing yet.
  /// - Parameter process: nil: it has one of its own.
  convenience init(in world: World, of process: FleetProcess? = nil) throws {
    let process = process ?? world.process("raw app")
    self.init(world.device.connect(process, to: try #require(world.device.hub)), of: process, in: world)
  }

  /// Sends a frame of a channel through a relay.
  func say(_ frame: RelayFrame) {
    link.send(frame)
    world.settle()
  }

  func poll() -> Bool {
    flush()
    guard connection.isReadable(0) else { return false }
    _ = connection.read(at: 0, atMost: .max, world.fleet) { bytes, descriptor in
      link.receive(bytes, descriptor)
      hear()
    }
    flush()
    return true
  }

  private func hear() {
    while let event = try? link.nextEvent() {
      if case .data(let channel, let bytes) = event {
        byteCount += bytes.count
        if grantsAll { link.grant(bytes.count, to: channel) }
      }
      if let descriptor = link.takeDescriptor() { descriptors.append(descriptor) }
      guard case .message = event, let message = try? link.takeMessage(Message.decode) else { continue }
      switch message {
      case .goodbye(let error): goodbye = error
      case .state(_, _, let channel, _, _, _):
        try? link.accept(channel)
        heard.append(message)
      case .response(_, _, _, let channel, _, _):
        if channel != 0 { try? link.accept(channel) }
        heard.append(message)
      case .resume(let secret, let named): (secretOfHub, sessions) = (secret, named)
      case .proceed(let session, let received): decision = (session, received)
      case .explanation(_, let list, let count):
        explanations.append(list)
        appCount = count
      case .follow(let hub, let list): lists[hub] = list
      case .unfollow(let hub): lists[hub] = nil
      case .seek(let hub, let sequence): sought[hub] = sequence
      default: heard.append(message)
      }
    }
  }

  /// An app that registers.
  /// - Parameters:
  ///   - secret: nil: it is a new one.
  ///   - process: nil: it has one of its own.
  convenience init(
    app name: String, as secret: Identifier? = nil, team: String = "TEAM", of process: FleetProcess? = nil,
    in world: World
  ) throws {
    try self.init(in: world, of: process)
    let identity = AppIdentity(
      secret: secret ?? world.identifier(), bundleIdentifier: "com.example.\(name)", name: name, team: team,
      types: ["com.example.note"], isChooser: false)
    try say(.hello(identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum))
  }

  /// The hub of another device.
  /// - Parameters:
  ///   - request: of the app that has asked for the link; nil for none.
  ///   - saysWho: and what it knows of the other, which is nothing.
  convenience init(hubIn world: World, for request: LinkRequest? = nil, saysWho: Bool = true) throws {
    try self.init(hubIn: world, as: world.identifier(), for: request, saysWho: saysWho)
    if saysWho { try resume() }
  }

  /// - Parameter sessions: those that it says it has with the hub, and whether they have a connection.
  func resume(_ sessions: (Identifier, isConnected: Bool)...) throws {
    let named = sessions.map { Message.SharedSession(secret: $0.0, isConnected: $0.isConnected) }
    try say(.resume(secret: secret, sessions: named))
  }

  /// The same, which has not said what it knows.
  convenience init(
    hubIn world: World, as id: Identifier, for request: LinkRequest? = nil, device: Identifier? = nil,
    saysWho: Bool = true
  ) throws {
    let (hub, process) = (try #require(world.device.hub), world.process("raw hub"))
    let number = hub.takeNumber()
    let connection = Connection(.app(process), .hub(hub, number))
    hub.join(connection, end: 1, as: number, for: request, device: device)
    self.init(connection, of: process, in: world)
    if saysWho {
      try say(
        .link(
          HubIdentity(id: id, deviceName: "away"), version: ProtocolVersion.current, minimum: ProtocolVersion.minimum))
    }
  }

  /// Its number at the hub; nil: the hub has not accepted it, or has closed the connection.
  var number: HubEngine.PeerNumber? {
    guard case .hub(_, let number) = connection.owners[1] else { return nil }
    return number
  }

  var isConnected: Bool { number != nil }

  /// Bytes that the hub keeps for it: it says of none that they came.
  var heldBytes: Int { number.flatMap { world.hub?.link(of: $0)?.heldBytes } ?? 0 }

  func disconnect() {
    connection.close(0, world.fleet)
    world.settle()
  }

  /// Several messages go out in one piece.
  func say(_ messages: Message...) throws { try say(messages) }
  func say(_ messages: [Message]) throws {
    for message in messages { link.send(try message.encoded()) }
    world.settle()
  }

  /// The same, with a descriptor.
  func say(_ message: Message, with descriptor: PassedDescriptor) throws {
    link.send(try message.encoded(), with: descriptor)
    world.settle()
  }

  /// The same, with a descriptor that the system of the hub has no room for.
  func sayLosingDescriptor(_ message: Message) throws {
    link.send(try message.encoded(), with: PassedDescriptor(isLost: true))
    while link.takeOutput({ bytes in
      world.hub?.receive(Array(bytes), with: link.outgoingDescriptor, from: number ?? 0, world.now)
      return bytes.count
    }) {}
    world.device.hub?.flush()
    world.settle()
  }

  /// Bytes that need be no messages.
  func say(_ bytes: [UInt8], with descriptor: PassedDescriptor?) {
    bytes.withUnsafeBytes { _ = connection.write($0, descriptor, from: 0, world.fleet) }
    world.settle()
  }

  /// One end of a new stream; the app has the other.
  func makeStream() -> FleetDescriptor { FleetDescriptor(process.makeSockets().1) }

  /// Bytes on the channel that `message` names, and an end with their number.
  func write(_ bytes: [UInt8], total: UInt64, _ message: (FramedConnection.Channel) -> Message) throws {
    let channel = link.open()
    link.send(try message(channel).encoded())
    link.write(bytes[...], to: channel)
    link.finish(channel, total: total)
    world.settle()
  }

  /// Opens the channel that `message` names; no byte of it follows.
  func open(_ message: (FramedConnection.Channel) -> Message) throws { try say(message(link.open())) }

  /// The same, and other messages about the channel may follow.
  func begin(_ message: (FramedConnection.Channel) -> Message) throws -> FramedConnection.Channel {
    let channel = link.open()
    try say(message(channel))
    return channel
  }

  /// All bytes on a channel that is open, and its end.
  func finish(_ bytes: [UInt8], on channel: FramedConnection.Channel) throws {
    link.write(bytes[...], to: channel)
    link.finish(channel)
    world.settle()
  }

  private func flush() {
    while connection.isWhole,
      link.takeOutput({ connection.write($0, link.outgoingDescriptor, from: 0, world.fleet) })
    {}
  }
}

extension World {
  /// An app asks for a link.
  func openLink(_ app: TestApp) throws -> LinkRequest {
    let link = DeviceLink(device, away)
    tell(app) { _ = $0.link(FleetDescriptor(.link(link)), $1) }
    return try #require(link.takeRequests().0)
  }

  /// Links with the raw hub of another device, which has said how it is reached.
  /// - Parameter device: whose certificate was shown; nil for the link of an app.
  func linkHub(device: Identifier? = nil) throws -> (peer: RawPeer, id: Identifier) {
    let id = identifier()
    let peer = try RawPeer(hubIn: self, as: id, device: device)
    try peer.resume()
    try peer.say(.route(to: id, Route([id], sequence: 1), isSought: false))
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
    _ number: UInt64 = 1, type: String = "com.example.note", team: String = "TEAM", names: String = "away"
  ) -> Message {
    let offer = Offer(
      description: OfferDescription(id, title, type: type), origin: origin, appName: names, bundleIdentifier: names,
      deviceName: names, rank: 1, activatedAt: 0)
    let version = OffersVersion(hub: hub, number: number)
    return .offer(
      offer, OfferTiming(age: 0, remaining: nil), OfferOrigin(team: team, activation: 1, version: version))
  }
}
