import SegueModel

extension Message {
  /// The numbers of the kinds on the wire.
  enum Kind: UInt64 {
    case hello = 1
    case welcome = 2
    case goodbye = 3
    case ping = 4
    case pong = 5
    case put = 6
    case withdraw = 7
    case offer = 8
    case gone = 9
    case ready = 10
    case fetch = 11
    case state = 12
    case refused = 13
    case outcome = 14
    case noted = 15
    case vanished = 16
    case explain = 17
    case explanation = 18
    case link = 19
    case resume = 20
    case attach = 21
    case attached = 22
    case detached = 23
    case stream = 24
    case streamAnswer = 25
    case streamWord = 26
    case request = 27
    case response = 28
    case proceed = 29
    case route = 30
    case seek = 31
    case follow = 32
    case unfollow = 33
    case list = 34
    case listed = 35
    case refresh = 36
  }

  /// The deterministic encoding of the message.
  /// Throws LIMIT_EXCEEDED if the message is too long to be sent.
  public func encoded() throws(SegueError) -> [UInt8] {
    var writer = ValueWriter()
    try encode(with: &writer)
    return writer.withWritten { Array($0) }
  }

  /// Writes the encoding to a writer, in place of its contents.
  fileprivate func encode(with writer: inout ValueWriter) throws(SegueError) {
    writer.reset()
    try writer.begin(.array)
    try write(to: &writer)
    try writer.end()
    guard writer.count <= Frame.messageLimit else {
      throw SegueError(.limitExceeded, "message: \(writer.count) bytes, at most \(Frame.messageLimit) can be sent")
    }
  }

  private func write(to writer: inout ValueWriter) throws(SegueError) {
    switch self {
    case .hello(let app, let version, let minimum):
      try writer.start(.hello)
      try writer.put(version)
      try writer.put(minimum)
      try writer.put(app.secret)
      try writer.put(app.bundleIdentifier)
      try writer.put(app.name)
      try writer.put(app.team)
      try writer.begin(.array)
      for type in app.types { try writer.put(type) }
      try writer.end()
      try writer.put(app.isChooser)
    case .welcome(let version, let generation, let deviceName):
      try writer.start(.welcome)
      try writer.put(version)
      try writer.put(generation)
      try writer.put(deviceName)
    case .goodbye(let error):
      try writer.start(.goodbye)
      try writer.put(error)
    case .link(let hub, let version, let minimum):
      try writer.start(.link)
      try writer.put(version)
      try writer.put(minimum)
      try writer.put(hub.id)
      try writer.put(hub.deviceName)
    case .resume(let secret, let sessions):
      try writer.start(.resume)
      try writer.put(secret)
      try writer.begin(.array)
      for session in sessions {
        try writer.put(session.secret)
        try writer.put(session.isConnected)
      }
      try writer.end()
    case .proceed(let session, let received):
      try writer.start(.proceed)
      if let session { try writer.put(session) } else { try writer.putNull() }
      try writer.put(received)
    case .ping(let number):
      try writer.start(.ping)
      try writer.put(number)
    case .pong(let number):
      try writer.start(.pong)
      try writer.put(number)
    case .put(let offer, let timing, let activation):
      try writer.start(.put)
      try writer.put(offer, timing)
      try writer.put(activation)
    case .withdraw(let id):
      try writer.start(.withdraw)
      try writer.put(id)
    case .offer(let offer, let timing, let origin):
      try writer.start(.offer)
      try writer.put(offer.description, timing)
      try writer.put(offer.origin)
      try writer.put(offer.appName)
      try writer.put(offer.bundleIdentifier)
      try writer.put(offer.deviceName)
      try writer.put(offer.rank)
      if let origin { try writer.put(origin) }
    case .gone(let id, let version):
      try writer.start(.gone)
      try writer.put(id)
      if let version {
        try writer.begin(.array)
        try writer.put(version)
        try writer.end()
      }
    case .route(let hub, let route, let isSought):
      try writer.start(.route)
      try writer.put(hub)
      if let route {
        try writer.begin(.array)
        try writer.put(route.sequence)
        for hub in route.hubs { try writer.put(hub) }
        try writer.end()
      } else {
        try writer.putNull()
      }
      if isSought { try writer.put(true) }
    case .seek(let hub, let sequence):
      try writer.start(.seek)
      try writer.put(hub)
      try writer.put(sequence)
    case .follow(let hub, let list):
      try writer.start(.follow)
      try writer.put(hub)
      try writer.put(list)
    case .unfollow(let hub):
      try writer.start(.unfollow)
      try writer.put(hub)
    case .list(let hub, let list):
      try writer.start(.list)
      try writer.put(hub)
      try writer.put(list)
    case .listed(let version):
      try writer.start(.listed)
      try writer.put(version)
    case .refresh:
      try writer.start(.refresh)
    case .ready:
      try writer.start(.ready)
    case .fetch(let continuation, let milliseconds, let receiver):
      try writer.start(.fetch)
      try writer.put(continuation)
      try writer.put(UInt64(max(0, milliseconds)))
      try writer.put(receiver)
    case .state(let id, let to, let channel, let size, let isStale):
      try writer.start(.state)
      try writer.put(id)
      try writer.put(to)
      try writer.put(UInt64(channel))
      try writer.put(size)
      try writer.put(isStale)
    case .refused(let id, let to, let error):
      try writer.start(.refused)
      try writer.put(id)
      try writer.put(to)
      try writer.put(error)
    case .outcome(let continuation, let outcome, let error, let receiver):
      try writer.start(.outcome)
      try writer.put(continuation)
      try writer.put(UInt64(outcome.rawValue))
      try writer.put(error ?? SegueError(.ok, ""))
      try writer.put(receiver)
    case .noted(let id, let to):
      try writer.start(.noted)
      try writer.put(id)
      try writer.put(to)
    case .vanished(let id):
      try writer.start(.vanished)
      try writer.put(id)
    case .stream(let id, let continuation, let from, let channel, let attachment):
      try writer.start(.stream)
      try writer.put(id)
      try writer.put(continuation)
      try writer.put(from)
      try writer.put(UInt64(channel))
      if let attachment {
        try writer.begin(.array)
        try writer.put(attachment.name)
        try writer.put(attachment.offset)
        try writer.end()
      }
    case .streamAnswer(let id, let continuation, let channel, let error):
      try writer.start(.streamAnswer)
      try writer.put(id)
      try writer.put(continuation)
      try writer.put(UInt64(channel))
      try writer.put(error ?? SegueError(.ok, ""))
    case .streamWord(let id, let continuation, let to, let word):
      try writer.start(.streamWord)
      try writer.put(id)
      try writer.put(continuation)
      try writer.put(to)
      try writer.put(word?.wireNumber ?? 0)
      if case .aborted(let code) = word { try writer.put(UInt64(code)) }
    case .request(let number, let continuation, let from, let milliseconds, let channel, let size):
      try writer.start(.request)
      try writer.put(number)
      try writer.put(continuation)
      try writer.put(from)
      try writer.put(UInt64(max(0, milliseconds)))
      try writer.put(UInt64(channel))
      try writer.put(size)
    case .response(let number, let continuation, let to, let channel, let size, let error):
      try writer.start(.response)
      try writer.put(number)
      try writer.put(continuation)
      try writer.put(to)
      try writer.put(UInt64(channel))
      try writer.put(size)
      try writer.put(error ?? SegueError(.ok, ""))
    case .attach(let number):
      try writer.start(.attach)
      try writer.put(number)
    case .attached(let number, let deviceName):
      try writer.start(.attached)
      try writer.put(number)
      try writer.put(deviceName)
    case .detached(let number, let error):
      try writer.start(.detached)
      try writer.put(number)
      try writer.put(error)
    case .explain(let request, let activity, let type):
      try writer.start(.explain)
      try writer.put(request)
      try writer.put(activity)
      try writer.put(type)
    case .explanation(let request, let explanations, let appCount):
      try writer.start(.explanation)
      try writer.put(request)
      try writer.put(appCount)
      try writer.begin(.array)
      for explanation in explanations {
        try writer.put(explanation.appName)
        try writer.put(explanation.obstacle.wireNumber)
      }
      try writer.end()
    }
  }
}

/// Sends messages with one shared buffer.
public struct MessageWriter {
  private var writer = ValueWriter()

  public init() {}

  /// Queues a message on a link. Throws LIMIT_EXCEEDED if the message is too long to be sent.
  /// - Parameter isUrgent: goes before queued messages.
  public mutating func send(
    _ message: Message, over link: Link, isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil
  ) throws(SegueError) {
    try message.encode(with: &writer)
    writer.withWritten { link.send($0, isUrgent: isUrgent, with: descriptor) }
  }

  /// The encoding of a message that is sent more than once.
  public mutating func encoding(of message: Message) throws(SegueError) -> [UInt8] {
    try message.encode(with: &writer)
    return writer.withWritten { Array($0) }
  }
}

extension Routing.Obstacle {
  var wireNumber: UInt64 {
    switch self {
    case .isOrigin: 0
    case .teamDiffers: 1
    case .typeNotDeclared: 2
    case .notFrontmost: 3
    }
  }

  init?(wireNumber: UInt64) {
    switch wireNumber {
    case 0: self = .isOrigin
    case 1: self = .teamDiffers
    case 2: self = .typeNotDeclared
    case 3: self = .notFrontmost
    default: return nil
    }
  }
}

extension StreamStatus {
  /// 0 means a question.
  var wireNumber: UInt64 {
    switch self {
    case .open: 1
    case .ended: 2
    case .aborted: 3
    case .broken: 4
    }
  }
}

/// Parts that several messages share.
extension ValueWriter {
  fileprivate mutating func start(_ kind: Message.Kind) throws(SegueError) { try put(kind.rawValue) }

  fileprivate mutating func put(_ error: SegueError) throws(SegueError) {
    try put(UInt64(error.status.rawValue))
    try put(error.message)
  }

  fileprivate mutating func put(_ continuation: Message.Continuation) throws(SegueError) {
    try put(continuation.id)
    try put(continuation.origin)
    try put(continuation.activity)
  }

  fileprivate mutating func put(_ receiver: Receiver?) throws(SegueError) {
    guard let receiver else { return try putNull() }
    try begin(.array)
    try put(receiver.id)
    try put(receiver.deviceName)
    try put(receiver.appName)
    try put(receiver.bundleIdentifier)
    try end()
  }

  fileprivate mutating func put(_ origin: OfferOrigin) throws(SegueError) {
    try begin(.array)
    try put(origin.team)
    try put(origin.activation)
    try put(origin.version)
    try end()
  }

  fileprivate mutating func put(_ version: OffersVersion) throws(SegueError) {
    try put(version.hub)
    try put(version.number)
  }

  fileprivate mutating func put(_ offer: OfferDescription, _ timing: OfferTiming) throws(SegueError) {
    try put(offer.id)
    try put(offer.type)
    if let title = offer.title { try put(title) } else { try putNull() }
    try put(UInt64(offer.payloadVersion))
    try put(offer.sizeHint)
    try put(UInt64(max(0, timing.age)))
    if let remaining = timing.remaining { try put(UInt64(max(0, remaining))) } else { try putNull() }
    try put(offer.supportsContinuationStreams)
  }
}
