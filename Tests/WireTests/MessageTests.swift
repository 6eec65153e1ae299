// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueWire

@Suite struct MessageTests {
  private static let id = Identifier(high: 1, low: 2)
  private static let receiver = Receiver(id: id, deviceName: "vm", appName: "Viewer", bundleIdentifier: "com.example.v")
  private static let description = OfferDescription(
    id: id, type: "com.example.note", title: "é", payloadVersion: 3, sizeHint: 700, expirationDate: nil,
    supportsContinuationStreams: true)
  private static let page = WebOrigin.of("https://example.com/a")
  private static let continuation = Message.Continuation(id: id, origin: id, activity: id)
  private static let timing = OfferTiming(age: 5, remaining: 60_000)

  static let all: [Message] = [
    .hello(
      AppIdentity(secret: id, bundleIdentifier: "b", name: "n", team: "t", types: ["a", "b"], isChooser: false),
      version: 1, minimum: 1),
    .hello(
      AppIdentity(secret: id, bundleIdentifier: "b", name: "n", team: "t", types: ["a", "b"], isChooser: false),
      version: 1, minimum: 1, knowsManifest: true),
    .welcome(version: 1, generation: 7, deviceName: "vm"),
    .welcome(version: 1, generation: 7, deviceName: "vm", agent: AgentDescription(version: "1", capabilities: 3)),
    .welcome(
      version: 1, generation: 7, deviceName: "vm", agent: AgentDescription(version: "1", capabilities: 3),
      manifest: AppManifest(
        name: nil, team: "T", types: ["a", "b"],
        documents: [
          AppManifest.Document(role: .editor, contentType: "text/plain", activityType: "c"),
          AppManifest.Document(role: .viewer, contentType: "image/png", activityType: "d"),
        ])),
    .goodbye(SegueError(.busy, "why")), .ping(1), .pong(2),
    .publish(description, timing, activation: 9), .withdraw(id),
    .publish(description.marked(isPrivate: true, webOrigin: nil), timing, activation: 9),
    .publish(description.marked(isPrivate: false, webOrigin: page), timing, activation: 9),
    .publish(description.marked(isPrivate: true, webOrigin: page), timing, activation: 9),
    .publish(
      description.marked(isPrivate: false, webOrigin: nil, isPublic: true, contentType: "text/plain"), timing,
      activation: 9),
    .publish(description.marked(isPrivate: false, webOrigin: nil, label: "window"), timing, activation: 9),
    .offer(
      Offer(
        description: description.marked(isPrivate: false, webOrigin: page), origin: id, appName: "n",
        bundleIdentifier: "b", deviceName: "vm", rank: 8, activatedAt: 0), timing, nil),
    .offer(
      Offer(
        description: description, origin: id, appName: "n", bundleIdentifier: "b", deviceName: "vm", rank: 8,
        activatedAt: 0), timing, nil),
    .offer(
      Offer(
        description: description, origin: id, appName: "n", bundleIdentifier: "b", deviceName: "vm", rank: 0,
        activatedAt: 0), timing,
      OfferOrigin(team: "T", activation: 1, version: OffersVersion(hub: id, number: 2))),
    .offer(
      Offer(
        description: description, origin: id, appName: "n", bundleIdentifier: "b", deviceName: "vm", rank: 0,
        activatedAt: 0), timing,
      OfferOrigin(
        team: "T", activation: 1, version: OffersVersion(hub: id, number: 2),
        retained: RetainedOrigin(
          device: id, activity: Identifier(high: 5, low: 6), revision: 7, proof: [UInt8](repeating: 1, count: 96)))),
    .gone(id, nil), .gone(id, OffersVersion(hub: id, number: 7)), .ready(settling: 0),
    .ready(settling: 500),
    .route(to: id, Route([Identifier(high: 3, low: 4), id], sequence: 5), isSought: false),
    .route(to: id, nil, isSought: true),
    .route(to: id, nil, isSought: false), .follow(id, list: 3),
    .seek(id, sequence: 6), .unfollow(id),
    .list(id, 3), .listed(OffersVersion(hub: id, number: .max)), .refresh, .account([1, 2]), .accepts(true),
    .failure(type: "t", SegueError(.handoffFailed, "why")),
    .failure(type: "t", SegueError(.handoffFailed, "why"), age: 1_500),
    .folders([]), .folders(Array("notes\t/a\n".utf8)),
    .present(AppIdentity(known: id, bundleIdentifier: "b", name: "n", team: "t", types: ["a", "b"]), accepts: true),
    .absent(id),
    .deliver(
      Message.DeliverRequest(
        continuation: id, to: id,
        offer: Offer(
          description: description, origin: id, appName: "n", bundleIdentifier: "b", deviceName: "vm", rank: 8,
          activatedAt: 0), timing: timing, milliseconds: 20_000, isRedelivered: true)),
    .deliver(
      Message.DeliverRequest(
        continuation: id, to: id,
        offer: Offer(
          description: description, origin: id, appName: "n", bundleIdentifier: "b", deviceName: "vm", rank: 8,
          activatedAt: 0), timing: timing, milliseconds: 20_000, isRedelivered: true, activationToken: "x_TIME1")),
    .keep(id, app: id, channel: 3, size: 9), .keepAttachment(channel: 3, "a.png", changed: .max), .keeps,
    .ask(3, [1, 2]), .answer(3, nil, [3]), .answer(4, SegueError(.notFound, "why"), []),
    .link(HubIdentity(id: id, deviceName: "vm"), version: 1, minimum: 1),
    .resume(secret: id, sessions: [Message.SharedSession(secret: id, isConnected: true)]),
    .proceed(session: id, received: .max), .proceed(session: nil, received: 0),
    .openLink(3), .linkUp(3, deviceName: "vm"),
    .linkDown(3, SegueError(.connectionUnavailable, "cut")),
    .fetch(continuation, milliseconds: 20_000, receiver: receiver),
    .fetch(continuation, milliseconds: 1, receiver: nil),
    .fetch(continuation, milliseconds: 1, receiver: nil, isBack: true),
    .fetch(continuation, milliseconds: 1, receiver: nil, isNear: true),
    .fetch(continuation, milliseconds: 1, receiver: nil, isBack: true, isNear: true),
    .originFolders(id, to: id, Array("segue-container:a\tfile:///a\n".utf8)),
    .state(id, to: id, channel: 3, size: 9, isStale: true, why: ""),
    .state(id, to: id, channel: 3, size: 9, isStale: true, why: "disk full"),
    .refused(id, to: id, SegueError(.handoffFailed, "gone")),
    .outcome(continuation, .restored, nil, receiver: receiver), .outcomeAck(id, to: id), .peerLost(id),
    .stream(id, continuation, from: id, channel: 5, attachment: nil),
    .stream(id, continuation, from: id, channel: 0, attachment: Message.AttachmentPart(name: "a.png", offset: 9)),
    .streamAnswer(id, continuation, channel: 6, nil),
    .streamAnswer(id, continuation, channel: 0, SegueError(.busy, "b")),
    .streamStatus(id, continuation, to: id, nil), .streamStatus(id, continuation, to: id, .open),
    .streamStatus(id, continuation, to: id, .ended), .streamStatus(id, continuation, to: id, .aborted(7)),
    .streamStatus(id, continuation, to: id, .broken),
    .request(7, continuation, from: id, milliseconds: 500, channel: 3, size: .max),
    .response(7, continuation, to: id, channel: 4, size: 9, nil),
    .response(7, continuation, to: id, channel: 0, size: 0, SegueError(.declined, "no")),
    .explain(request: 1, id, type: "a"),
    .explanation(request: 1, [Message.Explanation(name: "n", obstacle: .teamDiffers)], appCount: 2),
  ]

  @Test func `every message is what it was`() throws {
    for message in Self.all {
      let bytes = try message.encoded()
      let decoded = try #require(try decode(bytes))
      #expect(try decoded.encoded() == bytes)
    }
  }

  @Test func `a public offer, its content type and the label travel with it (R13.1, R13.6)`() throws {
    let described = Self.description.marked(
      isPrivate: false, webOrigin: nil, isPublic: true, contentType: "text/plain", label: "window 2")
    for marked in [
      described, Self.description.marked(isPrivate: false, webOrigin: nil, isPublic: true),
      Self.description.marked(isPrivate: true, webOrigin: Self.page, isPublic: true, contentType: "text/plain"),
      Self.description.marked(isPrivate: false, webOrigin: nil, label: "window 2"),
    ] {
      let bytes = try Message.publish(marked, Self.timing, activation: 9).encoded()
      guard case .publish(let read, _, _)? = try bytes.withUnsafeBytes({ try Message.decode($0) }) else {
        Issue.record("\(marked)")
        continue
      }
      #expect(read.isPublic == marked.isPublic && read.contentType == marked.contentType)
      #expect(read.label == marked.label && read.isPrivate == marked.isPrivate)
      #expect(read.webOrigin?.text == marked.webOrigin?.text)
    }
    // An earlier writer says nothing of it: not public, whatever the type.
    let plain = try Message.publish(Self.description, Self.timing, activation: 9).encoded()
    guard case .publish(let read, _, _)? = try plain.withUnsafeBytes({ try Message.decode($0) }) else { return }
    #expect(!read.isPublic && read.label == nil)
  }

  @Test func `the origin of a page travels with its offer, beside the mark of a private one (R12.1, R10.2)`() throws {
    for isPrivate in [false, true] {
      let described = Self.description.marked(isPrivate: isPrivate, webOrigin: Self.page)
      let bytes = try Message.publish(described, Self.timing, activation: 9).encoded()
      guard case .publish(let read, _, 9)? = try decode(bytes) else { return #expect(Bool(false), "no publish") }
      #expect(read.webOrigin?.text == "https://example.com" && read.isPrivate == isPrivate)
    }
  }

  @Test(arguments: ["https://example.com/", "https://EXAMPLE.com", "ftp://example.com", "example.com", ""])
  func `text that is no origin as origins write it is no message (R12.1, W11)`(text: String) throws {
    let described = Self.description.marked(isPrivate: true, webOrigin: Self.page)
    let message = try Value(cbor: try Message.publish(described, Self.timing, activation: 9).encoded())
    var elements = try #require(message.elements)
    elements[elements.count - 1] = .string(text)
    let bytes = try Value.array(elements).encoding
    #expect(throws: SegueError.self) { try decode(bytes) }
  }

  @Test func `no truncation and no flipped bit traps`() throws {
    for message in Self.all {
      let bytes = try message.encoded()
      for count in bytes.indices { #expect(throws: SegueError.self) { try decode(Array(bytes[..<count])) } }
      for bit in 0..<bytes.count * 8 {
        var flipped = bytes
        flipped[bit / 8] ^= 1 << UInt8(bit % 8)
        if let other = try? decode(flipped) { _ = try other.encoded() }
      }
    }
  }

  @Test func `newer peers may add elements and kinds`() throws {
    let longer = try Value.array([.unsigned(4), .unsigned(77), .string("new")])
    guard case .ping(77)? = try decode(longer.encoding) else { return #expect(Bool(false), "no ping") }
    #expect(try decode(Value.array([.unsigned(1_000)]).encoding) == nil)
    #expect(throws: SegueError.self) { try decode(Value.array([]).encoding) }
    #expect(throws: SegueError.self) { try decode(Value.string("hello").encoding) }
  }

  /// Elements that later versions may add to a withdrawal, containers among them, are passed over. Elements that follow
  /// it are read.
  @Test func `newer peers may add elements to what is inside of a message`() throws {
    let id = Identifier(high: 1, low: 2)
    let hub = Identifier(high: 3, low: 4)
    let more = try Value.array([
      .array([.string("new"), .array([])]), .dictionary([(key: .string("a"), value: .null)]),
    ])
    let withdrawal = try Value.array([.uuid(hub), .unsigned(5), more, .string("newer")])
    let gone = try Value.array([.unsigned(9), .uuid(id), withdrawal, .bool(true)])
    guard case .gone(id, let read?)? = try decode(gone.encoding) else {
      return #expect(Bool(false), "not gone")
    }
    #expect(read.hub == hub && read.number == 5)
    let receiver = try Value.array([.uuid(hub), .string("d"), .string("a"), .string("b"), more])
    let continuation = [Value.uuid(id), .uuid(id), .uuid(id)]
    let outcome = try Value.array([.unsigned(14)] + continuation + [.unsigned(1), .unsigned(0), .string(""), receiver])
    guard case .outcome(_, _, nil, let from?)? = try decode(outcome.encoding) else {
      return #expect(Bool(false), "no outcome")
    }
    #expect(from.id == hub && from.bundleIdentifier == "b")
    let types = try Value.array([.string("t1"), .string("t2")])
    let hello = try Value.array(
      [
        .unsigned(1), .unsigned(1), .unsigned(1), .uuid(id), .string("b"), .string("n"), .string("T"), types,
        .bool(true),
      ])
    guard case .hello(let app, 1, 1, false)? = try decode(hello.encoding) else {
      return #expect(Bool(false), "no hello")
    }
    #expect(app.types == ["t1", "t2"] && app.isChooser)
  }
}

/// The message in these bytes.
func decode(_ bytes: [UInt8]) throws -> Message? {
  try bytes.withUnsafeBufferPointer { (bytes) throws(SegueError) in try Message.decode(UnsafeRawBufferPointer(bytes)) }
}
