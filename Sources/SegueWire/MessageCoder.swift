// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Writes the elements of messages one by one, or reads those of one message. Each `code` writes the value that it
/// gets, or reads and checks one, and returns it: so a message lists its elements once, for both directions. A reader
/// reads missing elements as null and skips surplus ones. After the first failure all calls do nothing.
struct MessageCoder {
  /// The first error; the message is then worthless.
  private(set) var failure: SegueError?
  /// Nil: writes.
  private var reader: FlatReader?
  private var writer = ValueWriter()
  /// The number of the message that is read.
  let number: UInt64
  /// The remaining and the taken elements of the message, or of the current array in it. A writer has none.
  private var count = 0
  private var taken = 0
  /// The same for the message while an array in it is read.
  private var outer = (count: 0, taken: 0)
  /// The same while an array in that array is read.
  private var outermost = (count: 0, taken: 0)

  /// Writes messages.
  init() { number = 0 }

  /// Reads a message: the elements after its number, of which there are `count`.
  init(_ reader: FlatReader, number: UInt64, count: Int) {
    self.reader = reader
    self.number = number
    self.count = count
  }

  /// Writes a message in place of the last one.
  /// Throws LIMIT_EXCEEDED if the message is too long to be sent.
  mutating func write(_ message: Message) throws(SegueError) {
    failure = nil
    writer.reset()
    try writer.begin(.array)
    try writer.put(message.number)
    var message = message
    message.code(with: &self)
    if let failure { throw failure }
    try writer.end()
    guard writer.count <= Frame.messageLimit else {
      throw SegueError(.limitExceeded, "message: \(writer.count) bytes, at most \(Frame.messageLimit) can be sent")
    }
  }

  /// Passes the encoding of the message that was written.
  func withWritten<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { writer.withWritten(body) }

  private var isReading: Bool { reader != nil }

  // MARK: - Failures, null and arrays

  /// - Parameter limit: in bytes.
  @inline(never)
  private mutating func fail(_ expected: StaticString, atMost limit: Int? = nil) {
    let bound: DiagnosticText = if let limit { " of \(limit) bytes at most" } else { "" }
    fail(SegueError(.malformed, "message \(number): element \(taken) is not \(expected)\(bound)"))
  }

  private mutating func fail(_ error: SegueError) {
    if failure == nil { failure = error }
    // Nothing is left to read.
    count = 0
    outer.count = 0
    outermost.count = 0
  }

  private mutating func write(_ body: (inout ValueWriter) throws(SegueError) -> Void) {
    do throws(SegueError) { try body(&writer) } catch { fail(error) }
  }

  /// Moves the reader to the next element; false if it is missing.
  private mutating func next() -> Bool {
    taken += 1
    guard count > 0 else { return false }
    count -= 1
    return true
  }

  /// Whether the next element has a value: writes, reads or skips null if not.
  /// - Parameter isLast: is left out instead of null.
  private mutating func hasValue(_ isThere: Bool, isLast: Bool = false) -> Bool {
    guard isReading else {
      if !isThere && !isLast { write { (writer) throws(SegueError) in try writer.putNull() } }
      return isThere
    }
    guard count == 0 || reader?.null() == true else { return true }
    _ = next()
    return false
  }

  /// Enters an array in the message, whose elements follow until `leave`.
  private mutating func enter(_ expected: StaticString) {
    guard isReading else { return write { (writer) throws(SegueError) in try writer.begin(.array) } }
    guard next(), let array = reader?.array() else { return fail(expected) }
    (outermost, outer) = (outer, (count, taken))
    (count, taken) = (array, 0)
  }

  private mutating func leave() {
    guard isReading else { return write { (writer) throws(SegueError) in try writer.end() } }
    reader?.skip(count)
    (count, taken) = outer
    outer = outermost
  }

  /// Codes the elements up to the end of an array. Leaves out those for which `body` returns nil.
  /// - Parameter blank: the argument of `body` for a reader.
  private mutating func code<Element>(
    _ elements: [Element], blank: Element, _ body: (inout MessageCoder, Element) -> Element?
  ) -> [Element] {
    var coded: [Element] = []
    var index = 0
    while isReading ? count > 0 : index < elements.count {
      let element = isReading ? blank : elements[index]
      if let element = body(&self, element), isReading { coded.append(element) }
      index += 1
    }
    return coded
  }

  // MARK: - Elements

  mutating func code(_ value: UInt64) -> UInt64 {
    guard isReading else {
      write { (writer) throws(SegueError) in try writer.put(value) }
      return value
    }
    if next(), let read = reader?.unsigned() { return read }
    fail("an unsigned number")
    return value
  }

  mutating func code(_ value: UInt32, _ expected: StaticString = "a channel") -> UInt32 {
    if let coded = UInt32(exactly: code(UInt64(value))) { return coded }
    fail(expected)
    return value
  }

  /// A duration; more than a year counts as a year, so that sums do not overflow.
  mutating func code(milliseconds: Int64, atMost limit: UInt64 = 366 * 86_400_000) -> Int64 {
    Int64(min(code(UInt64(max(0, milliseconds))), limit))
  }

  mutating func code(_ value: Bool) -> Bool {
    guard isReading else {
      write { (writer) throws(SegueError) in try writer.put(value) }
      return value
    }
    if next(), let read = reader?.bool() { return read }
    fail("true or false")
    return value
  }

  /// The last element, a duration; left out if it is 0.
  mutating func code(last milliseconds: Int64) -> Int64 {
    hasValue(milliseconds > 0, isLast: true) ? code(milliseconds: milliseconds) : 0
  }

  /// The last element, a text for people; left out if it is empty.
  mutating func code(last text: String) -> String {
    hasValue(!text.utf8.isEmpty, isLast: true) ? code(text, atMost: Limits.title) : ""
  }

  /// Left out, or null if it is not the last element, if false.
  mutating func code(flag: Bool, isLast: Bool = true) -> Bool { hasValue(flag, isLast: isLast) && code(flag) }

  mutating func code(_ value: Identifier) -> Identifier {
    guard isReading else {
      write { (writer) throws(SegueError) in try writer.put(value) }
      return value
    }
    if next(), let read = reader?.uuid() { return read }
    fail("an identifier")
    return value
  }

  mutating func code(orNull value: Identifier?) -> Identifier? {
    hasValue(value != nil) ? code(value ?? .blank) : nil
  }

  mutating func code(_ value: String, atMost limit: Int = Limits.identifier) -> String {
    guard isReading else {
      write { (writer) throws(SegueError) in try writer.put(value) }
      return value
    }
    if next(), let read = reader?.string(atMost: limit) { return read }
    fail("text", atMost: limit)
    return value
  }

  mutating func code(bytes value: [UInt8]) -> [UInt8] {
    guard isReading else {
      write { (writer) throws(SegueError) in try writer.put(data: value) }
      return value
    }
    if next(), let read = reader?.data() { return read }
    fail("bytes")
    return value
  }

  // MARK: - Parts that several messages share, and lists

  /// An error that there has to be: one with the status ok counts as one with a status of newer peers.
  mutating func code(_ error: SegueError) -> SegueError {
    let (status, message) = code(error.status, error.message)
    guard isReading else { return error }
    return SegueError(status == .ok ? .handoffFailed : status, DiagnosticText(of: message))
  }

  private mutating func code(_ status: Status, _ message: String) -> (Status, String) {
    let number = code(UInt64(status.rawValue))
    let message = code(message, atMost: Limits.title)
    // A status of newer peers still is a failure.
    return (Int32(exactly: number).flatMap { Status(rawValue: $0) } ?? .handoffFailed, message)
  }

  /// Nil for the status ok.
  mutating func code(orOK error: SegueError?) -> SegueError? {
    let (status, message) = code(error?.status ?? .ok, error?.message ?? "")
    guard isReading else { return error }
    return status == .ok ? nil : SegueError(status, DiagnosticText(of: message))
  }

  mutating func code(_ continuation: Message.Continuation) -> Message.Continuation {
    let id = code(continuation.id)
    let origin = code(continuation.origin)
    let activity = code(continuation.activity)
    return isReading ? Message.Continuation(id: id, origin: origin, activity: activity) : continuation
  }

  mutating func code(_ receiver: Receiver?) -> Receiver? {
    guard hasValue(receiver != nil) else { return nil }
    let receiver = receiver ?? Receiver.blank
    enter("a receiver")
    let id = code(receiver.id)
    let deviceName = code(receiver.deviceName)
    let appName = code(receiver.appName)
    let bundleIdentifier = code(receiver.bundleIdentifier)
    leave()
    guard isReading else { return receiver }
    return Receiver(id: id, deviceName: deviceName, appName: appName, bundleIdentifier: bundleIdentifier)
  }

  mutating func code(_ outcome: Outcome) -> Outcome {
    if let coded = Int32(exactly: code(UInt64(outcome.rawValue))).flatMap({ Outcome(rawValue: $0) }) { return coded }
    fail("an outcome")
    return outcome
  }

  mutating func code(_ part: Message.AttachmentPart?) -> Message.AttachmentPart? {
    guard hasValue(part != nil, isLast: true) else { return nil }
    enter("a part of an attachment")
    let name = code(part?.name ?? "")
    let offset = code(part?.offset ?? 0)
    leave()
    return isReading ? Message.AttachmentPart(name: name, offset: offset) : part
  }

  /// Nil for a question.
  mutating func code(_ status: StreamStatus?) -> StreamStatus? {
    switch code(status?.wireNumber ?? 0) {
    case 0: return nil
    case 1: return .open
    case 2: return .ended
    case 3:
      var number: UInt32 = 0
      if case .aborted(let code) = status { number = code }
      return .aborted(code(number, "a code"))
    // A status of newer peers is not a clean end.
    default: return .broken
    }
  }

  mutating func code(_ route: Route?) -> Route? {
    guard hasValue(route != nil) else { return nil }
    enter("a route")
    let sequence = code(route?.sequence ?? 0)
    if isReading, !(1...Route.limit ~= count) { fail("a route of 1 to 16 hubs") }
    let hubs = code(route?.hubs ?? [], blank: .blank) { (coder, hub) in coder.code(hub) }
    leave()
    return Route(hubs, sequence: sequence)
  }

  mutating func code(_ origin: OfferOrigin?, isLast: Bool) -> OfferOrigin? {
    guard hasValue(origin != nil, isLast: isLast) else { return nil }
    let origin = origin ?? OfferOrigin(team: "", activation: 0, version: .blank)
    enter("an origin")
    let coded = OfferOrigin(
      team: code(origin.team), activation: code(origin.activation), version: code(origin.version),
      retained: code(origin.retained))
    leave()
    return coded
  }

  private mutating func code(_ retained: RetainedOrigin?) -> RetainedOrigin? {
    guard hasValue(retained != nil, isLast: true) else { return nil }
    enter("a retained origin")
    let (device, activity) = (code(retained?.device ?? .blank), code(retained?.activity ?? .blank))
    let (revision, proof) = (code(retained?.revision ?? 0), code(bytes: retained?.proof ?? []))
    let push = code(retained?.push)
    leave()
    if isReading, proof.count != RetainedOrigin.proofSize { fail("a proof") }
    return RetainedOrigin(device: device, activity: activity, revision: revision, push: push, proof: proof)
  }

  /// The last elements of a retained origin.
  private mutating func code(_ push: RetainedPush?) -> RetainedPush? {
    guard hasValue(push != nil, isLast: true) else { return nil }
    let (id, target) = (code(push?.id ?? .blank), code(push?.target ?? .blank))
    let app = hasValue(push?.app != nil, isLast: true) ? code(push?.app ?? "") : nil
    return RetainedPush(id: id, target: target, app: app)
  }

  mutating func code(_ agent: AgentDescription?, isLast: Bool) -> AgentDescription? {
    guard hasValue(agent != nil, isLast: isLast) else { return nil }
    enter("an agent")
    let coded = AgentDescription(
      version: code(agent?.version ?? ""), capabilities: code(agent?.capabilities ?? 0),
      participant: code(orNull: agent?.participant))
    leave()
    return coded
  }

  mutating func code(_ version: OffersVersion) -> OffersVersion {
    OffersVersion(hub: code(version.hub), number: code(version.number))
  }

  mutating func code(enclosed version: OffersVersion?) -> OffersVersion? {
    guard hasValue(version != nil, isLast: true) else { return nil }
    enter("a version")
    let coded = code(version ?? .blank)
    leave()
    return coded
  }

  mutating func code(_ offer: OfferDescription, _ timing: OfferTiming) -> (OfferDescription, OfferTiming) {
    let id = code(offer.id)
    let type = code(offer.type, atMost: Limits.type)
    let title = hasValue(offer.title != nil) ? code(offer.title ?? "", atMost: Limits.title) : nil
    let version = code(offer.payloadVersion, "a payload version")
    let sizeHint = code(offer.sizeHint)
    let age = code(milliseconds: timing.age)
    let remaining =
      hasValue(timing.remaining != nil)
      ? code(milliseconds: timing.remaining ?? 0, atMost: UInt64(OfferTiming.longest)) : nil
    let description = OfferDescription(
      id: id, type: type, title: title, payloadVersion: version, sizeHint: sizeHint, expirationDate: nil,
      supportsContinuationStreams: code(offer.supportsContinuationStreams))
    return (description, OfferTiming(age: age, remaining: remaining))
  }

  /// The last elements of a message with an offer, each left out if neither it nor a further one has a value.
  mutating func code(marksOf offer: OfferDescription, in coded: OfferDescription) -> OfferDescription {
    let count = offer.markCount
    let isPrivate = hasValue(offer.isPrivate, isLast: count < 1) && code(offer.isPrivate)
    var webOrigin: WebOrigin?
    if hasValue(offer.webOrigin != nil, isLast: count < 2) {
      let text = code(offer.webOrigin?.text ?? "", atMost: Limits.webOrigin)
      webOrigin = isReading ? WebOrigin.read(text) : offer.webOrigin
      if webOrigin == nil { fail("the origin of a web page") }
    }
    let isPublic = hasValue(offer.isPublic, isLast: count < 3) && code(offer.isPublic)
    let contentType = code(optional: offer.contentType, atMost: Limits.type, isLast: count < 4)
    let label = code(optional: offer.label, atMost: Limits.label, isLast: true)
    return coded.marked(
      isPrivate: isPrivate, webOrigin: webOrigin, isPublic: isPublic, contentType: isPublic ? contentType : nil,
      label: label)
  }

  private mutating func code(optional text: String?, atMost limit: Int, isLast: Bool) -> String? {
    hasValue(text != nil, isLast: isLast) ? code(text ?? "", atMost: limit) : nil
  }

  mutating func code(_ offer: Offer, _ timing: OfferTiming) -> (Offer, OfferTiming) {
    let (description, timing) = code(offer.description, timing)
    let origin = code(offer.origin)
    let appName = code(offer.appName)
    let bundleIdentifier = code(offer.bundleIdentifier)
    let deviceName = code(offer.deviceName)
    let rank = code(offer.rank)
    guard isReading else { return (offer, timing) }
    let coded = Offer(
      description: description, origin: origin, appName: appName, bundleIdentifier: bundleIdentifier,
      deviceName: deviceName, rank: rank, activatedAt: 0)
    return (coded, timing)
  }

  mutating func code(_ app: AppIdentity) -> AppIdentity {
    let secret = code(app.secret)
    let bundleIdentifier = code(app.bundleIdentifier)
    let name = code(app.name)
    let team = code(app.team)
    let types = code(types: app.types)
    let isChooser = code(app.isChooser)
    guard isReading else { return app }
    return AppIdentity(
      secret: secret, bundleIdentifier: bundleIdentifier, name: name, team: team, types: types, isChooser: isChooser)
  }

  mutating func code(_ manifest: AppManifest?) -> AppManifest? {
    guard hasValue(manifest != nil, isLast: true) else { return nil }
    enter("a manifest")
    let name = code(optional: manifest?.name)
    let team = code(optional: manifest?.team)
    let types = code(types: manifest?.types ?? [])
    enter("a list of document types")
    if count > 3 * Limits.typesPerApp { fail("a list of document types") }
    let blank = AppManifest.Document(role: .editor, contentType: "", activityType: "")
    let documents = code(manifest?.documents ?? [], blank: blank) { (coder, document) in
      let role = AppManifest.Document.Role(rawValue: coder.code(document.role.rawValue))
      let contentType = coder.code(document.contentType, atMost: Limits.type)
      let activityType = coder.code(document.activityType, atMost: Limits.type)
      // A role of newer peers is none that documents here can have.
      return role.map { AppManifest.Document(role: $0, contentType: contentType, activityType: activityType) }
    }
    leave()
    leave()
    return isReading ? AppManifest(name: name, team: team, types: types, documents: documents) : manifest
  }

  private mutating func code(optional text: String?) -> String? { hasValue(text != nil) ? code(text ?? "") : nil }

  private mutating func code(types: [String]) -> [String] {
    enter("a list of types")
    if count > Limits.typesPerApp { fail("a list of types") }
    let coded = code(types, blank: "") { (coder, type) in coder.code(type, atMost: Limits.type) }
    leave()
    return coded
  }

  /// An app without its secret.
  mutating func code(known app: AppIdentity) -> AppIdentity {
    let id = code(app.id)
    let bundleIdentifier = code(app.bundleIdentifier)
    let name = code(app.name)
    let team = code(app.team)
    let types = code(types: app.types)
    guard isReading else { return app }
    return AppIdentity(known: id, bundleIdentifier: bundleIdentifier, name: name, team: team, types: types)
  }

  mutating func code(_ delivery: Message.DeliverRequest) -> Message.DeliverRequest {
    let continuation = code(delivery.continuation)
    let to = code(delivery.to)
    let milliseconds = code(milliseconds: delivery.milliseconds)
    let isRedelivered = code(delivery.isRedelivered)
    let (offer, timing) = code(delivery.offer, delivery.timing)
    let token = code(optional: delivery.activationToken, atMost: Limits.activationToken, isLast: true)
    guard isReading else { return delivery }
    return Message.DeliverRequest(
      continuation: continuation, to: to, offer: offer, timing: timing, milliseconds: milliseconds,
      isRedelivered: isRedelivered, activationToken: token)
  }

  mutating func code(_ sessions: [Message.SharedSession]) -> [Message.SharedSession] {
    enter("a list of sessions")
    if count % 2 != 0 || count > 2 * Message.SharedSession.limit { fail("a list of sessions") }
    let blank = Message.SharedSession(secret: .blank, isConnected: false)
    let coded = code(sessions, blank: blank) { (coder, session) in
      Message.SharedSession(secret: coder.code(session.secret), isConnected: coder.code(session.isConnected))
    }
    leave()
    return coded
  }

  /// Skips obstacles of newer peers.
  mutating func code(_ explanations: [Message.Explanation]) -> [Message.Explanation] {
    enter("a list of explanations")
    if count % 2 != 0 { fail("a list of explanations") }
    let blank = Message.Explanation(name: "", obstacle: .isOrigin)
    let coded = code(explanations, blank: blank) { (coder, explanation) in
      let name = coder.code(explanation.name, atMost: Frame.messageLimit)
      return Routing.Obstacle(rawValue: coder.code(explanation.obstacle.rawValue)).map {
        Message.Explanation(name: name, obstacle: $0)
      }
    }
    leave()
    return coded
  }
}

extension StreamStatus {
  /// 0 means a question.
  fileprivate var wireNumber: UInt64 {
    switch self {
    case .open: 1
    case .ended: 2
    case .aborted: 3
    case .broken: 4
    }
  }
}
