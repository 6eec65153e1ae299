// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

extension Message {
  /// Decodes a message from outside. Nil for an unknown kind, from a newer peer. Throws MALFORMED, which names the
  /// message and the element.
  public static func decode(_ bytes: UnsafeRawBufferPointer) throws(SegueError) -> Message? {
    if let reader = FlatReader(bytes) { return try decode(reader) }
    // The message has another encoding.
    return try Value(cbor: bytes).encoding.withUnsafeBufferPointer { (bytes) throws(SegueError) in
      try decode(FlatReader(UnsafeRawBufferPointer(bytes)))
    }
  }

  @inline(never)
  private static func decode(_ reader: FlatReader?) throws(SegueError) -> Message? {
    guard var reader, let count = reader.array(), count > 0, let number = reader.unsigned() else {
      throw SegueError(.malformed, "message: not an array that starts with a number")
    }
    guard var message = Message(blank: number) else { return nil }
    var coder = MessageCoder(reader, number: number, count: count - 1)
    message.code(with: &coder)
    if let failure = coder.failure { throw failure }
    return message
  }

  /// The deterministic encoding of the message.
  /// Throws LIMIT_EXCEEDED if the message is too long to be sent.
  public func encoded() throws(SegueError) -> [UInt8] {
    var writer = MessageWriter()
    return try writer.encoding(of: self)
  }

  /// Writes the elements after the number, or replaces them by those that the coder reads.
  @inline(never)
  mutating func code(with coder: inout MessageCoder) {
    switch self {
    case .hello(let app, let version, let minimum, let knowsManifest):
      let version = coder.code(version)
      let minimum = coder.code(minimum)
      self = .hello(
        coder.code(app), version: version, minimum: minimum, knowsManifest: coder.code(flag: knowsManifest))
    case .welcome(let version, let generation, let deviceName, let agent, let manifest):
      self = .welcome(
        version: coder.code(version), generation: coder.code(generation), deviceName: coder.code(deviceName),
        agent: coder.code(agent, isLast: manifest == nil), manifest: coder.code(manifest))
    case .folders(let text): self = .folders(coder.code(bytes: text))
    case .goodbye(let error): self = .goodbye(coder.code(error))
    case .link(let hub, let version, let minimum):
      let version = coder.code(version)
      let minimum = coder.code(minimum)
      let hub = HubIdentity(id: coder.code(hub.id), deviceName: coder.code(hub.deviceName))
      self = .link(hub, version: version, minimum: minimum)
    case .resume(let secret, let sessions):
      self = .resume(secret: coder.code(secret), sessions: coder.code(sessions))
    case .proceed(let session, let received):
      self = .proceed(session: coder.code(orNull: session), received: coder.code(received))
    case .ping(let number): self = .ping(coder.code(number))
    case .pong(let number): self = .pong(coder.code(number))
    case .publish(let offer, let timing, let activation):
      let (coded, timing) = coder.code(offer, timing)
      let activation = coder.code(activation)
      self = .publish(coder.code(marksOf: offer, in: coded), timing, activation: activation)
    case .withdraw(let id): self = .withdraw(coder.code(id))
    case .offer(let offer, let timing, let origin):
      let (coded, timing) = coder.code(offer, timing)
      let origin = coder.code(origin, isLast: offer.description.markCount == 0)
      let description = coder.code(marksOf: offer.description, in: coded.description)
      self = .offer(coded.described(description), timing, origin)
    case .gone(let id, let version): self = .gone(coder.code(id), coder.code(enclosed: version))
    case .route(let hub, let route, let isSought):
      self = .route(to: coder.code(hub), coder.code(route), isSought: coder.code(flag: isSought))
    case .seek(let hub, let sequence): self = .seek(coder.code(hub), sequence: coder.code(sequence))
    case .follow(let hub, let list): self = .follow(coder.code(hub), list: coder.code(list))
    case .unfollow(let hub): self = .unfollow(coder.code(hub))
    case .list(let hub, let list): self = .list(coder.code(hub), coder.code(list))
    case .listed(let version): self = .listed(coder.code(version))
    case .ready(let settling): self = .ready(settling: coder.code(last: settling))
    case .refresh, .keeps: break
    case .account(let message): self = .account(coder.code(bytes: message))
    case .fetch(let continuation, let milliseconds, let receiver, let principal, let isBack, let isNear):
      self = .fetch(
        coder.code(continuation), milliseconds: coder.code(milliseconds: milliseconds), receiver: coder.code(receiver),
        principal: coder.code(orNull: principal), isBack: coder.code(flag: isBack, isLast: !isNear),
        isNear: coder.code(flag: isNear))
    case .originFolders(let id, let to, let text):
      self = .originFolders(coder.code(id), to: coder.code(to), coder.code(bytes: text))
    case .state(let id, let to, let channel, let size, let isStale, let why):
      self = .state(
        coder.code(id), to: coder.code(to), channel: coder.code(channel), size: coder.code(size),
        isStale: coder.code(isStale), why: coder.code(last: why))
    case .refused(let id, let to, let error):
      self = .refused(coder.code(id), to: coder.code(to), coder.code(error))
    case .outcome(let continuation, let outcome, let error, let receiver):
      self = .outcome(
        coder.code(continuation), coder.code(outcome), coder.code(orOK: error), receiver: coder.code(receiver))
    case .outcomeAck(let id, let to): self = .outcomeAck(coder.code(id), to: coder.code(to))
    case .peerLost(let id): self = .peerLost(coder.code(id))
    case .stream(let id, let continuation, let from, let channel, let attachment):
      self = .stream(
        coder.code(id), coder.code(continuation), from: coder.code(from), channel: coder.code(channel),
        attachment: coder.code(attachment))
    case .streamAnswer(let id, let continuation, let channel, let error):
      self = .streamAnswer(
        coder.code(id), coder.code(continuation), channel: coder.code(channel), coder.code(orOK: error))
    case .streamStatus(let id, let continuation, let to, let status):
      self = .streamStatus(coder.code(id), coder.code(continuation), to: coder.code(to), coder.code(status))
    case .request(let number, let continuation, let from, let milliseconds, let channel, let size):
      self = .request(
        coder.code(number), coder.code(continuation), from: coder.code(from),
        milliseconds: coder.code(milliseconds: milliseconds), channel: coder.code(channel), size: coder.code(size))
    case .response(let number, let continuation, let to, let channel, let size, let error):
      self = .response(
        coder.code(number), coder.code(continuation), to: coder.code(to), channel: coder.code(channel),
        size: coder.code(size), coder.code(orOK: error))
    case .openLink(let number): self = .openLink(coder.code(number))
    case .linkUp(let number, let deviceName):
      self = .linkUp(coder.code(number), deviceName: coder.code(deviceName))
    case .linkDown(let number, let error): self = .linkDown(coder.code(number), coder.code(error))
    case .accepts(let accepts): self = .accepts(coder.code(accepts))
    case .present(let app, let accepts, let principal):
      self = .present(coder.code(known: app), accepts: coder.code(accepts), principal: coder.code(orNull: principal))
    case .absent(let id): self = .absent(coder.code(id))
    case .deliver(let delivery): self = .deliver(coder.code(delivery))
    case .keep(let id, let app, let channel, let size):
      self = .keep(coder.code(id), app: coder.code(app), channel: coder.code(channel), size: coder.code(size))
    case .keepAttachment(let channel, let name, let changed):
      self = .keepAttachment(channel: coder.code(channel), coder.code(name), changed: coder.code(changed))
    case .failure(let type, let error, let age):
      self = .failure(type: coder.code(type, atMost: Limits.type), coder.code(error), age: coder.code(last: age))
    case .ask(let number, let bytes): self = .ask(coder.code(number), coder.code(bytes: bytes))
    case .answer(let number, let error, let bytes):
      self = .answer(coder.code(number), coder.code(orOK: error), coder.code(bytes: bytes))
    case .explain(let request, let activity, let type):
      self = .explain(
        request: coder.code(request), coder.code(activity), type: coder.code(type, atMost: Limits.type))
    case .explanation(let request, let explanations, let appCount):
      let request = coder.code(request)
      let appCount = coder.code(appCount)
      self = .explanation(request: request, coder.code(explanations), appCount: appCount)
    }
  }
}
