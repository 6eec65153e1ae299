import SegueModel

extension Message {
  /// The message in a body from outside. Nil: of a kind that we do not know, from a newer peer.
  /// Throws MALFORMED, naming the message and the element.
  public init?(decoding bytes: [UInt8]) throws(SegueError) {
    let value = try Value(cbor: bytes)
    guard value.kind == .array, let elements = value.elements, let number = elements.first?.uint64 else {
      throw SegueError(.malformed, "message: not an array that starts with a number")
    }
    guard let kind = Kind(rawValue: number) else { return nil }
    var fields = MessageFields(elements)
    self = try Message(kind, &fields)
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
      self = .resume(mine: try fields.unsigned(), yours: try fields.unsigned(), received: try fields.unsigned())
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
      self = .offer(offer, timing, try fields.route())
    case .gone: self = .gone(try fields.identifier(), try fields.withdrawal())
    case .ready: self = .ready
    case .fetch:
      let continuation = try fields.continuation()
      self = .fetch(continuation, milliseconds: try fields.milliseconds(), receiver: try fields.receiver())
    case .state:
      let id = try fields.identifier()
      let to = try fields.identifier()
      guard let channel = UInt32(exactly: try fields.unsigned()) else { throw fields.problem("a channel") }
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

/// The elements of a message from outside, taken one by one, each checked.
struct MessageFields {
  private let elements: [Value]
  private var index = 1

  init(_ elements: [Value]) { self.elements = elements }

  /// Elements that were not taken yet.
  private var count: Int { max(0, elements.count - index) }

  func problem(_ expected: String) -> SegueError {
    SegueError(
      .malformed, "message \(elements.first?.diagnostic ?? ""): element \(index - 1) is not \(expected)")
  }

  private mutating func next() -> Value {
    defer { index += 1 }
    return index < elements.count ? elements[index] : .null
  }

  mutating func unsigned() throws(SegueError) -> UInt64 {
    guard let number = next().uint64 else { throw problem("an unsigned number") }
    return number
  }

  /// A span of time; longer than a year counts as a year, so that sums of it stay sums.
  mutating func milliseconds() throws(SegueError) -> Int64 {
    Int64(min(try unsigned(), 366 * 86_400_000))
  }

  mutating func bool() throws(SegueError) -> Bool {
    guard let bool = next().bool else { throw problem("true or false") }
    return bool
  }

  mutating func identifier() throws(SegueError) -> Identifier {
    guard let id = next().uuid else { throw problem("an identifier") }
    return id
  }

  mutating func string(atMost limit: Int) throws(SegueError) -> String {
    guard let string = next().string, string.utf8.count <= limit else {
      throw problem("text of \(limit) bytes at most")
    }
    return string
  }

  mutating func name() throws(SegueError) -> String { try string(atMost: Limits.identifier) }

  mutating func error() throws(SegueError) -> SegueError {
    let number = try unsigned()
    let message = try string(atMost: Limits.title)
    // A status that only newer peers know is still a failure.
    let status = Int32(exactly: number).flatMap { Status(rawValue: $0) } ?? .handoffFailed
    return SegueError(status, message)
  }

  mutating func continuation() throws(SegueError) -> Message.Continuation {
    Message.Continuation(id: try identifier(), origin: try identifier(), activity: try identifier())
  }

  mutating func receiver() throws(SegueError) -> Receiver? {
    guard var fields = try part("a receiver") else { return nil }
    return Receiver(
      id: try fields.identifier(), deviceName: try fields.name(), appName: try fields.name(),
      bundleIdentifier: try fields.name())
  }

  /// The elements of an array inside the message; nil if it is null.
  private mutating func part(_ what: String) throws(SegueError) -> MessageFields? {
    let value = next()
    if value.kind == .null { return nil }
    guard let elements = value.elements else { throw problem(what) }
    return MessageFields([self.elements.first ?? .null] + elements)
  }

  mutating func route() throws(SegueError) -> Route? {
    guard var fields = try part("a route") else { return nil }
    let team = try fields.name()
    let activation = try fields.unsigned()
    let revision = try fields.unsigned()
    guard 1...Route.limit ~= fields.count else { throw problem("a route of 1 to \(Route.limit) hubs") }
    var hubs: [Identifier] = []
    while fields.count > 0 { hubs.append(try fields.identifier()) }
    return Route(team: team, activation: activation, revision: revision, hubs: hubs)
  }

  mutating func withdrawal() throws(SegueError) -> Withdrawal? {
    guard var fields = try part("a withdrawal") else { return nil }
    return Withdrawal(hub: try fields.identifier(), revision: try fields.unsigned())
  }

  mutating func offerDescription() throws(SegueError) -> (OfferDescription, OfferTiming) {
    let id = try identifier()
    let type = try string(atMost: Limits.type)
    let title = next()
    guard title.kind == .null || (title.string?.utf8.count).map({ $0 <= Limits.title }) ?? false else {
      throw problem("a title")
    }
    guard let version = UInt32(exactly: try unsigned()) else { throw problem("a payload version") }
    let sizeHint = try unsigned()
    let age = try milliseconds()
    let remaining = next()
    guard remaining.kind == .null || remaining.uint64 != nil else { throw problem("milliseconds") }
    let timing = OfferTiming(
      age: age, remaining: remaining.uint64.map { Int64(min($0, UInt64(OfferTiming.longest))) })
    let description = OfferDescription(
      id: id, type: type, title: title.string, payloadVersion: version, sizeHint: sizeHint,
      expirationDate: nil, supportsContinuationStreams: try bool())
    return (description, timing)
  }

  mutating func app() throws(SegueError) -> AppIdentity {
    let id = try identifier()
    let bundleIdentifier = try name()
    let name = try name()
    let team = try self.name()
    guard let types = next().elements, types.count <= Limits.typesPerApp else { throw problem("a list of types") }
    var names: [String] = []
    for type in types {
      guard let name = type.string, name.utf8.count <= Limits.type else { throw problem("a list of types") }
      names.append(name)
    }
    return AppIdentity(
      id: id, bundleIdentifier: bundleIdentifier, name: name, team: team, types: names, isChooser: try bool())
  }

  mutating func explanations() throws(SegueError) -> [Message.Explanation] {
    guard let elements = next().elements, elements.count % 2 == 0 else { throw problem("a list of explanations") }
    var explanations: [Message.Explanation] = []
    for pair in stride(from: 0, to: elements.count, by: 2) {
      guard let name = elements[pair].string, let number = elements[pair + 1].uint64 else {
        throw problem("a list of explanations")
      }
      guard let obstacle = Routing.Obstacle(wireNumber: number) else { continue }
      explanations.append(Message.Explanation(appName: name, obstacle: obstacle))
    }
    return explanations
  }
}
