// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Messages of all kinds, with identifiers that meet again. A new kind is a line here.
extension Input {
  private mutating func fetch() -> Message {
    let (continuation, milliseconds) = (continuation(), milliseconds())
    return .fetch(
      continuation, milliseconds: milliseconds, receiver: receiver(), principal: bool() ? identifier() : nil,
      isBack: milliseconds % 4 == 3, isNear: milliseconds % 8 >= 4)
  }

  private mutating func askOrOriginFolders() -> Message {
    let (number, bytes) = (number(), [byte()])
    return number % 2 == 0 ? .ask(number, bytes) : .originFolders(identifier(), to: appIdentifier(), bytes)
  }

  mutating func message() -> Message {
    switch number(below: 42) {
    case 0: .hello(app(identifier()), version: version(), minimum: version(), knowsManifest: bool())
    case 1:
      .welcome(
        version: version(), generation: number(), deviceName: text(atMost: 4),
        agent: bool()
          ? AgentDescription(
            version: text(atMost: 4), capabilities: number(), participant: bool() ? appIdentifier() : nil)
          : nil,
        manifest: bool()
          ? AppManifest(
            name: bool() ? text(atMost: 4) : nil, team: bool() ? text(atMost: 4) : nil, types: [type()],
            documents: bool()
              ? [AppManifest.Document(role: .viewer, contentType: type(), activityType: type())] : [])
          : nil)
    case 2: .goodbye(error())
    case 3: .ping(number())
    case 4: .pong(number())
    case 5: .publish(description(), timing(), activation: number())
    case 6: .withdraw(identifier())
    case 7: .offer(offer(), timing(), bool() ? origin() : nil)
    case 8: .gone(identifier(), bool() ? version(of: identifier()) : nil)
    case 9: .ready(settling: Int64(number() % 2_000))
    case 10: fetch()
    case 11:
      .state(
        identifier(), to: appIdentifier(), channel: channel(), size: number(), isStale: bool(),
        why: bool() ? text(atMost: 4) : "")
    case 12: .refused(identifier(), to: appIdentifier(), error())
    case 13: .outcome(continuation(), outcome(), bool() ? error() : nil, receiver: receiver())
    case 14: .outcomeAck(identifier(), to: appIdentifier())
    case 15: .peerLost(identifier())
    case 16: .explain(request: number(), identifier(), type: type())
    case 17: .explanation(request: number(), [], appCount: number())
    case 18:
      .resume(
        secret: identifier(),
        sessions: (0..<number(below: 3)).map { _ in Message.SharedSession(secret: identifier(), isConnected: bool()) })
    case 19: .openLink(number())
    case 20: .linkUp(number(), deviceName: text(atMost: 4))
    case 21: .linkDown(number(), error())
    case 22:
      .request(
        number(), continuation(), from: appIdentifier(), milliseconds: milliseconds(), channel: channel(),
        size: UInt64(byte()))
    case 23:
      .response(
        number(), continuation(), to: appIdentifier(), channel: channel(), size: UInt64(byte()), bool() ? error() : nil)
    case 24: .proceed(session: bool() ? identifier() : nil, received: number())
    case 27:
      .stream(
        identifier(), continuation(), from: appIdentifier(), channel: channel(),
        attachment: bool() ? Message.AttachmentPart(name: text(atMost: 4), offset: number()) : nil)
    case 25: .streamAnswer(identifier(), continuation(), channel: channel(), bool() ? error() : nil)
    case 26:
      .streamStatus(
        identifier(), continuation(), to: appIdentifier(), [nil, .open, .ended, .broken, .aborted(1)][number(below: 5)])
    case 28: .route(to: identifier(), bool() ? route() : nil, isSought: bool())
    case 29: .follow(identifier(), list: number())
    case 30: .unfollow(identifier())
    case 31: .list(identifier(), UInt64(number(below: 4)))
    case 32: .listed(version(of: identifier()))
    case 33: bool() ? .refresh : bool() ? .keeps : .account([byte()])
    case 34: .seek(identifier(), sequence: number())
    case 35:
      bool() ? .accepts(bool()) : .keepAttachment(channel: channel(), text(atMost: 4), changed: number())
    case 36:
      bool()
        ? .present(app(identifier()), accepts: bool())
        : .failure(type: text(atMost: 4), error(), age: bool() ? 0 : 1_500)
    case 37:
      bool() ? .absent(appIdentifier()) : .keep(identifier(), app: appIdentifier(), channel: channel(), size: number())
    case 38:
      .deliver(
        Message.DeliverRequest(
          continuation: identifier(), to: appIdentifier(), offer: offer(), timing: timing(),
          milliseconds: milliseconds(), isRedelivered: bool(), activationToken: bool() ? "token" : nil))
    case 39: askOrOriginFolders()
    case 40: .answer(number(), bool() ? error() : nil, [byte()])
    default: .link(HubIdentity(id: identifier(), deviceName: "away"), version: version(), minimum: version())
    }
  }

  mutating func app(_ secret: Identifier) -> AppIdentity {
    AppIdentity(
      secret: secret, bundleIdentifier: "com.example.peer", name: "Peer", team: bool() ? "" : "TEAM",
      types: [type(), "note"],
      isChooser: number(below: 4) == 0)
  }

  /// The identifier of an app whose secret is one of the identifiers.
  private mutating func appIdentifier() -> Identifier { Identifier(ofSecret: identifier()) }

  mutating func channel() -> FramedConnection.Channel { FramedConnection.Channel(number(below: 16)) }

  /// Usually 1.
  private mutating func version() -> UInt64 { number(below: 8) == 7 ? number() : 1 }
  private mutating func type() -> String { bool() ? "note" : text(atMost: 2) }
  private mutating func milliseconds() -> Int64 { Int64(clamping: number()) }

  private mutating func error() -> SegueError {
    SegueError(Status.allCases[number(below: Status.allCases.count)], "because")
  }

  private mutating func outcome() -> Outcome { Outcome(rawValue: Int32(number(below: 4)) + 1) ?? .unknown }

  private mutating func continuation() -> Message.Continuation {
    Message.Continuation(id: identifier(), origin: appIdentifier(), activity: identifier())
  }

  private mutating func receiver() -> Receiver? {
    guard bool() else { return nil }
    return Receiver(id: appIdentifier(), deviceName: "away", appName: "Peer", bundleIdentifier: "com.example.peer")
  }

  private mutating func description() -> OfferDescription {
    OfferDescription(
      id: identifier(), type: type(), title: bool() ? "Title" : nil,
      payloadVersion: UInt32(truncatingIfNeeded: number()), sizeHint: number(), expirationDate: nil,
      supportsContinuationStreams: bool(), isPrivate: bool(),
      webOrigin: bool() ? WebOrigin.of("https://example.com/") : nil, isPublic: bool(),
      contentType: bool() ? "text/plain" : nil, label: bool() ? text(atMost: 4) : nil)
  }

  private mutating func timing() -> OfferTiming {
    OfferTiming(age: milliseconds(), remaining: bool() ? milliseconds() : nil)
  }

  private mutating func offer() -> Offer {
    Offer(
      description: description(), origin: appIdentifier(), appName: "Peer", bundleIdentifier: "com.example.peer",
      deviceName: "away", rank: number(), activatedAt: 0)
  }

  private mutating func origin() -> OfferOrigin {
    OfferOrigin(
      team: bool() ? "" : "TEAM", activation: number(), version: version(of: identifier()),
      retained: bool() ? nil : retained())
  }

  private mutating func retained() -> RetainedOrigin {
    RetainedOrigin(
      device: identifier(), activity: identifier(), revision: number(),
      proof: [UInt8](repeating: bool() ? 0 : 7, count: RetainedOrigin.proofSize))
  }

  private mutating func version(of hub: Identifier) -> OffersVersion { OffersVersion(hub: hub, number: number()) }

  private mutating func route() -> Route { Route((0...number(below: 3)).map { _ in identifier() }, sequence: number()) }
}
