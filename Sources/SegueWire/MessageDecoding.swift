import SegueModel

extension Message {
  /// Decodes a message from outside. Nil for an unknown kind, from a newer peer. Throws MALFORMED, which names the
  /// message and the element.
  public static func decode(_ bytes: UnsafeRawBufferPointer) throws(SegueError) -> Message? {
    if let reader = FlatReader(bytes) { return try decode(MessageFields(reader)) }
    // The message has another encoding.
    return try Value(cbor: bytes).encoding.withUnsafeBufferPointer { (bytes) throws(SegueError) in
      try decode(FlatReader(UnsafeRawBufferPointer(bytes)).flatMap { MessageFields($0) })
    }
  }

  @inline(never)
  private static func decode(_ fields: MessageFields?) throws(SegueError) -> Message? {
    guard var fields else { throw SegueError(.malformed, "message: not an array that starts with a number") }
    guard let kind = Kind(rawValue: fields.number) else { return nil }
    return try Message(kind, &fields)
  }

  private init(_ kind: Kind, _ fields: inout MessageFields) throws(SegueError) {
    switch kind {
    case .hello:
      let version = try fields.unsigned()
      let minimum = try fields.unsigned()
      self = .hello(try fields.app(), version: version, minimum: minimum)
    case .welcome:
      self = .welcome(
        version: try fields.unsigned(), generation: try fields.unsigned(), deviceName: try fields.name())
    case .goodbye: self = .goodbye(try fields.error())
    case .link:
      let version = try fields.unsigned()
      let minimum = try fields.unsigned()
      let hub = HubIdentity(id: try fields.identifier(), deviceName: try fields.name())
      self = .link(hub, version: version, minimum: minimum)
    case .resume:
      self = .resume(secret: try fields.identifier(), sessions: try fields.sessions())
    case .proceed:
      self = .proceed(session: try fields.identifierOrNil(), received: try fields.unsigned())
    case .ping: self = .ping(try fields.unsigned())
    case .pong: self = .pong(try fields.unsigned())
    case .put:
      let (description, timing) = try fields.offerDescription()
      self = .put(description, timing, activation: try fields.unsigned())
    case .withdraw: self = .withdraw(try fields.identifier())
    case .offer:
      let (description, timing) = try fields.offerDescription()
      let offer = Offer(
        description: description, origin: try fields.identifier(), appName: try fields.name(),
        bundleIdentifier: try fields.name(), deviceName: try fields.name(), rank: try fields.unsigned(),
        activatedAt: 0)
      self = .offer(offer, timing, try fields.origin())
    case .gone: self = .gone(try fields.identifier(), try fields.enclosedVersion())
    case .route: self = .route(to: try fields.identifier(), try fields.route(), isSought: try fields.flag())
    case .seek: self = .seek(try fields.identifier(), sequence: try fields.unsigned())
    case .follow: self = .follow(try fields.identifier(), list: try fields.unsigned())
    case .unfollow: self = .unfollow(try fields.identifier())
    case .list: self = .list(try fields.identifier(), try fields.unsigned())
    case .listed: self = .listed(try fields.version())
    case .refresh: self = .refresh
    case .ready: self = .ready
    case .fetch:
      let continuation = try fields.continuation()
      self = .fetch(continuation, milliseconds: try fields.milliseconds(), receiver: try fields.receiver())
    case .state:
      let id = try fields.identifier()
      let to = try fields.identifier()
      let channel = try fields.channel()
      self = .state(id, to: to, channel: channel, size: try fields.unsigned(), isStale: try fields.bool())
    case .refused:
      self = .refused(try fields.identifier(), to: try fields.identifier(), try fields.error())
    case .outcome:
      let continuation = try fields.continuation()
      guard let outcome = Int32(exactly: try fields.unsigned()).flatMap({ Outcome(rawValue: $0) }) else {
        throw fields.problem("an outcome")
      }
      let error = try fields.error()
      self = .outcome(
        continuation, outcome, error.status == .ok ? nil : error, receiver: try fields.receiver())
    case .noted: self = .noted(try fields.identifier(), to: try fields.identifier())
    case .vanished: self = .vanished(try fields.identifier())
    case .stream:
      let id = try fields.identifier()
      let continuation = try fields.continuation()
      self = .stream(
        id, continuation, from: try fields.identifier(), channel: try fields.channel(),
        attachment: try fields.attachmentPart())
    case .streamAnswer:
      let id = try fields.identifier()
      let continuation = try fields.continuation()
      let channel = try fields.channel()
      let error = try fields.error()
      self = .streamAnswer(id, continuation, channel: channel, error.status == .ok ? nil : error)
    case .streamWord:
      let id = try fields.identifier()
      let continuation = try fields.continuation()
      self = .streamWord(id, continuation, to: try fields.identifier(), try fields.streamWord())
    case .request:
      let number = try fields.unsigned()
      let continuation = try fields.continuation()
      self = .request(
        number, continuation, from: try fields.identifier(), milliseconds: try fields.milliseconds(),
        channel: try fields.channel(), size: try fields.unsigned())
    case .response:
      let number = try fields.unsigned()
      let continuation = try fields.continuation()
      let to = try fields.identifier()
      let channel = try fields.channel()
      let size = try fields.unsigned()
      let error = try fields.error()
      self = .response(
        number, continuation, to: to, channel: channel, size: size, error.status == .ok ? nil : error)
    case .attach: self = .attach(try fields.unsigned())
    case .attached: self = .attached(try fields.unsigned(), deviceName: try fields.name())
    case .detached: self = .detached(try fields.unsigned(), try fields.error())
    case .explain:
      self = .explain(
        request: try fields.unsigned(), try fields.identifier(), type: try fields.string(atMost: Limits.type))
    case .explanation:
      let request = try fields.unsigned()
      let appCount = try fields.unsigned()
      self = .explanation(request: request, try fields.explanations(), appCount: appCount)
    }
  }
}

/// The elements of a message from outside, taken one by one and checked. Missing ones count as null, surplus ones are
/// skipped.
struct MessageFields {
  /// The kind of the message.
  let number: UInt64
  private var reader: FlatReader
  /// The remaining and the taken elements of the message, or of the current array in it.
  private var count: Int
  private var taken = 0
  /// The same for the message while an array in it is read.
  private var outer = (count: 0, taken: 0)

  /// Nil unless the bytes are an array that starts with a number.
  init?(_ message: FlatReader) {
    reader = message
    guard let array = reader.array(), array > 0, let first = reader.unsigned() else { return nil }
    count = array - 1
    number = first
  }

  @inline(never)
  func problem(_ expected: DiagnosticText) -> SegueError {
    SegueError(.malformed, "message \(number): element \(taken) is not \(expected)")
  }

  /// Moves to the next element; false if it is missing.
  private mutating func next() -> Bool {
    taken += 1
    guard count > 0 else { return false }
    count -= 1
    return true
  }

  /// Does the same, and skips null.
  private mutating func nextUnlessNull() -> Bool { next() && !reader.null() }

  /// Enters an array in the message, whose elements follow until `leave`.
  /// - Returns: false if it is null.
  private mutating func enter(_ what: DiagnosticText) throws(SegueError) -> Bool {
    guard nextUnlessNull() else { return false }
    guard let array = reader.array() else { throw problem(what) }
    outer = (count, taken)
    (count, taken) = (array, 0)
    return true
  }

  private mutating func leave() {
    reader.skip(count)
    (count, taken) = outer
  }

  mutating func unsigned() throws(SegueError) -> UInt64 {
    guard next(), let number = reader.unsigned() else { throw problem("an unsigned number") }
    return number
  }

  /// A duration; more than a year counts as a year, so that sums do not overflow.
  mutating func milliseconds() throws(SegueError) -> Int64 {
    Int64(min(try unsigned(), 366 * 86_400_000))
  }

  mutating func bool() throws(SegueError) -> Bool {
    guard next(), let bool = reader.bool() else { throw problem("true or false") }
    return bool
  }

  /// False, if it is missing.
  mutating func flag() throws(SegueError) -> Bool {
    guard nextUnlessNull() else { return false }
    guard let bool = reader.bool() else { throw problem("true or false") }
    return bool
  }

  mutating func identifier() throws(SegueError) -> Identifier {
    guard next(), let identifier = reader.uuid() else { throw problem("an identifier") }
    return identifier
  }

  mutating func string(atMost limit: Int) throws(SegueError) -> String {
    guard next(), let text = reader.string(atMost: limit) else { throw problem("text of \(limit) bytes at most") }
    return text
  }

  mutating func name() throws(SegueError) -> String { try string(atMost: Limits.identifier) }

  mutating func error() throws(SegueError) -> SegueError {
    let number = try unsigned()
    let message = try string(atMost: Limits.title)
    // A status of newer peers still is a failure.
    let status = Int32(exactly: number).flatMap { Status(rawValue: $0) } ?? .handoffFailed
    return SegueError(status, DiagnosticText(of: message))
  }

  mutating func continuation() throws(SegueError) -> Message.Continuation {
    Message.Continuation(id: try identifier(), origin: try identifier(), activity: try identifier())
  }

  mutating func receiver() throws(SegueError) -> Receiver? {
    guard try enter("a receiver") else { return nil }
    let receiver = Receiver(
      id: try identifier(), deviceName: try name(), appName: try name(), bundleIdentifier: try name())
    leave()
    return receiver
  }

  mutating func channel() throws(SegueError) -> UInt32 {
    guard let channel = UInt32(exactly: try unsigned()) else { throw problem("a channel") }
    return channel
  }

  mutating func attachmentPart() throws(SegueError) -> Message.AttachmentPart? {
    guard try enter("a part of an attachment") else { return nil }
    let part = Message.AttachmentPart(name: try name(), offset: try unsigned())
    leave()
    return part
  }

  /// Nil for a question.
  mutating func streamWord() throws(SegueError) -> StreamStatus? {
    switch try unsigned() {
    case 0: return nil
    case 1: return .open
    case 2: return .ended
    case 3:
      guard let code = UInt32(exactly: try unsigned()) else { throw problem("a code") }
      return .aborted(code)
    // A status of newer peers is not a clean end.
    default: return .broken
    }
  }

  mutating func route() throws(SegueError) -> Route? {
    guard try enter("a route") else { return nil }
    let sequence = try unsigned()
    guard 1...Route.limit ~= count else { throw problem("a route of 1 to \(Route.limit) hubs") }
    var hubs: [Identifier] = []
    hubs.reserveCapacity(count)
    while count > 0 { hubs.append(try identifier()) }
    leave()
    return Route(hubs, sequence: sequence)
  }

  mutating func origin() throws(SegueError) -> OfferOrigin? {
    guard try enter("an origin") else { return nil }
    let origin = OfferOrigin(team: try name(), activation: try unsigned(), version: try version())
    leave()
    return origin
  }

  mutating func version() throws(SegueError) -> OffersVersion {
    OffersVersion(hub: try identifier(), number: try unsigned())
  }

  mutating func enclosedVersion() throws(SegueError) -> OffersVersion? {
    guard try enter("a version") else { return nil }
    let version = try version()
    leave()
    return version
  }

  mutating func offerDescription() throws(SegueError) -> (OfferDescription, OfferTiming) {
    let id = try identifier()
    let type = try string(atMost: Limits.type)
    var title: String?
    if nextUnlessNull() {
      title = reader.string(atMost: Limits.title)
      if title == nil { throw problem("a title") }
    }
    guard let version = UInt32(exactly: try unsigned()) else { throw problem("a payload version") }
    let sizeHint = try unsigned()
    let age = try milliseconds()
    var remaining: Int64?
    if nextUnlessNull() {
      guard let milliseconds = reader.unsigned() else { throw problem("milliseconds") }
      remaining = Int64(min(milliseconds, UInt64(OfferTiming.longest)))
    }
    let timing = OfferTiming(age: age, remaining: remaining)
    let description = OfferDescription(
      id: id, type: type, title: title, payloadVersion: version, sizeHint: sizeHint,
      expirationDate: nil, supportsContinuationStreams: try bool())
    return (description, timing)
  }

  mutating func app() throws(SegueError) -> AppIdentity {
    let secret = try identifier()
    let bundleIdentifier = try name()
    let name = try name()
    let team = try self.name()
    guard try enter("a list of types"), count <= Limits.typesPerApp else { throw problem("a list of types") }
    var types: [String] = []
    while count > 0 { types.append(try string(atMost: Limits.type)) }
    leave()
    return AppIdentity(
      secret: secret, bundleIdentifier: bundleIdentifier, name: name, team: team, types: types, isChooser: try bool())
  }

  mutating func sessions() throws(SegueError) -> [Message.SharedSession] {
    guard try enter("a list of sessions"), count % 2 == 0, count <= 2 * Message.SharedSession.limit else {
      throw problem("a list of sessions")
    }
    var sessions: [Message.SharedSession] = []
    while count > 0 {
      let secret = try identifier()
      sessions.append(Message.SharedSession(secret: secret, isConnected: try bool()))
    }
    leave()
    return sessions
  }

  mutating func identifierOrNil() throws(SegueError) -> Identifier? {
    guard nextUnlessNull() else { return nil }
    guard let identifier = reader.uuid() else { throw problem("an identifier") }
    return identifier
  }

  mutating func explanations() throws(SegueError) -> [Message.Explanation] {
    guard try enter("a list of explanations"), count % 2 == 0 else { throw problem("a list of explanations") }
    var explanations: [Message.Explanation] = []
    while count > 0 {
      let name = try string(atMost: Frame.messageLimit)
      guard let obstacle = Routing.Obstacle(wireNumber: try unsigned()) else { continue }
      explanations.append(Message.Explanation(appName: name, obstacle: obstacle))
    }
    leave()
    return explanations
  }
}
