// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// A message between the agents of two devices of an account that does not change the account (docs/trust.md, "Over
/// links"). Each is an array that begins with its number. The numbers follow those of the account's messages.
public enum DeviceMessage {
  /// Continue this offer of the sender's device (R3.15).
  case push(PushRequest)
  /// The answer to the push of that number: the continuation has begun, or why not.
  case pushed(UInt64, Result<PushAnswer, SegueError>)
  /// The push of that number is withdrawn: its answer is no longer wanted.
  case withdrawn(UInt64)
  /// The reader was removed from the account.
  case removed
  /// The sender has met another machine that has its keys.
  case copied
  /// The sender listens at this port of these addresses, at most `Limits.toldAddresses`, without zones (R14.1).
  case addresses(UInt16, [NetworkAddress])
  /// Retain these offers of the sender's device, at most `Limits.wantedOffers`, and none else (R14.5).
  case retain([RetainRequest])
  /// The offers of the reader's device that the sender retains, and why it does not retain all; nil: it does.
  case retained([RetainedState], SegueError?)
  /// Keep this push of the sender's device for another one (R3.15, R14.5). The answer is `pushed`.
  case keepPush(KeepPushRequest)
  /// The pushes of the reader's device that the sender keeps, at most `Limits.retainedPushes`, and whose targets have
  /// not had them yet.
  case keptPushes([KeptPushState])
  /// Drop these pushes of the sender's device, at most `Limits.wantedOffers`.
  case dropPushes([Identifier])
  /// Continue the push of this identifier, which the sender offers to the reader. The answer is `pushed`.
  case deliverPush(number: UInt64, Identifier, milliseconds: Int64)

  public func encoding() throws(SegueError) -> [UInt8] {
    switch self {
    case .push(let request):
      try Self.array([
        .unsigned(8), .unsigned(request.number), .uuid(request.activity), request.app.map { .string($0) } ?? .null,
        .integer(request.milliseconds), request.order.map { .unsigned($0) } ?? .null,
      ])
    case .pushed(let number, .success(let answer)):
      try Self.array([
        .unsigned(9), .unsigned(number), .integer(0), .string(""), .uuid(answer.continuation),
        .string(answer.bundleIdentifier), .string(answer.appName),
      ])
    case .pushed(let number, .failure(let error)):
      try Self.array([
        .unsigned(9), .unsigned(number), .integer(Int64(error.status.rawValue)),
        .string(Text.start(of: error.message, atMost: Limits.title)),
      ])
    case .withdrawn(let number): try Self.array([.unsigned(10), .unsigned(number)])
    case .removed: try Self.array([.unsigned(11)])
    case .copied: try Self.array([.unsigned(13)])
    case .addresses(let port, let addresses):
      try Self.array([
        .unsigned(14), .unsigned(UInt64(port)),
        try .array(addresses.prefix(Limits.toldAddresses).map { .data($0.bytes) }),
      ])
    case .retain(let requests):
      try Self.array([
        .unsigned(18),
        try Self.elements(requests.prefix(Limits.wantedOffers)) { each throws(SegueError) in try each.value() },
      ])
    case .retained(let states, let error):
      try Self.array([
        .unsigned(19),
        try Self.elements(states.prefix(Limits.wantedOffers)) { each throws(SegueError) in try each.value() },
        .integer(Int64(error?.status.rawValue ?? 0)),
        .string(Text.start(of: error?.message ?? "", atMost: Limits.title)),
      ])
    case .keepPush(let request): try Self.array([.unsigned(20)] + request.elements)
    case .keptPushes(let states):
      try Self.array([
        .unsigned(21),
        try Self.elements(states.prefix(Limits.retainedPushes)) { each throws(SegueError) in try each.value() },
      ])
    case .dropPushes(let ids):
      try Self.array([.unsigned(22), try .array(ids.prefix(Limits.wantedOffers).map { .uuid($0) })])
    case .deliverPush(let number, let id, let milliseconds):
      try Self.array([.unsigned(23), .unsigned(number), .uuid(id), .integer(milliseconds)])
    }
  }

  /// Reads a message; nil for one that is about something else, or of a later version. Throws MALFORMED.
  public static func known(_ encoding: [UInt8]) throws(SegueError) -> DeviceMessage? {
    // The first byte of an array, and the number of a message, in deterministic CBOR.
    guard encoding.count > 1, Self.isKnown(encoding) else { return nil }
    guard let elements = try Value(cbor: encoding).elements else { throw malformed("elements") }
    if encoding[1] == 11 { return .removed }
    if encoding[1] == 13 { return .copied }
    guard elements.count > 1 else { throw malformed("elements") }
    if encoding[1] == 14 { return try addresses(elements) }
    // Numbers from 24 on have a byte more in CBOR: these have none.
    if encoding[1] == 18 {
      return .retain(try list(elements[1]) { each throws(SegueError) in try RetainRequest(each) })
    }
    if encoding[1] == 19 { return try retained(elements) }
    if encoding[1] == 21 {
      return .keptPushes(try list(elements[1]) { each throws(SegueError) in try KeptPushState(each) })
    }
    if encoding[1] == 22 {
      return .dropPushes(
        try list(elements[1]) { each throws(SegueError) in
          guard let id = each.uuid else { throw malformed("a push") }
          return id
        })
    }
    guard let number = elements[1].int64.flatMap({ UInt64(exactly: $0) }) else { throw malformed("its number") }
    switch encoding[1] {
    case 8: return .push(try request(number, elements))
    case 9: return .pushed(number, try answer(elements))
    case 20: return .keepPush(try KeepPushRequest(number, elements))
    case 23: return try deliverPush(number, elements)
    default: return .withdrawn(number)
    }
  }

  private static func isKnown(_ encoding: [UInt8]) -> Bool {
    encoding[0] & 0xE0 == 0x80
      && (8...11 ~= encoding[1] || 13...14 ~= encoding[1] || 18...23 ~= encoding[1])
  }

  private static func retained(_ elements: [Value]) throws(SegueError) -> DeviceMessage {
    guard elements.count > 3, let status = elements[2].int64.flatMap({ Int32(exactly: $0) }) else {
      throw malformed("the status")
    }
    let states = try list(elements[1]) { each throws(SegueError) in try RetainedState(each) }
    let reason = try text(elements[3], "the reason", atMost: Limits.title)
    guard status != 0 else { return .retained(states, nil) }
    let line = String(decoding: Text.oneLine(reason), as: UTF8.self)
    return .retained(states, SegueError(Status(rawValue: status) ?? .limitExceeded, DiagnosticText(of: line)))
  }

  private static func elements<Each>(
    _ all: some Collection<Each>, _ value: (Each) throws(SegueError) -> Value
  ) throws(SegueError) -> Value {
    var values: [Value] = []
    for each in all { values.append(try value(each)) }
    return try .array(values)
  }

  private static func list<Each>(
    _ value: Value, _ read: (Value) throws(SegueError) -> Each
  ) throws(SegueError) -> [Each] {
    guard let elements = value.elements, elements.count <= Limits.wantedOffers else { throw malformed("the offers") }
    var all: [Each] = []
    for each in elements { all.append(try read(each)) }
    return all
  }

  /// Elements beyond those that are read are ignored: a later version may tell more of them.
  private static func addresses(_ elements: [Value]) throws(SegueError) -> DeviceMessage {
    guard elements.count > 2, let port = elements[1].int64.flatMap({ UInt16(exactly: $0) }), port > 0,
      let told = elements[2].elements
    else { throw malformed("the addresses") }
    var addresses: [NetworkAddress] = []
    for each in told where addresses.count < Limits.toldAddresses {
      guard let address = each.data.flatMap({ NetworkAddress(bytes: $0) }) else { throw malformed("an address") }
      if !addresses.contains(address) { addresses.append(address) }
    }
    return .addresses(port, addresses)
  }

  private static func request(_ number: UInt64, _ elements: [Value]) throws(SegueError) -> PushRequest {
    guard elements.count > 4, let activity = elements[2].uuid else { throw malformed("the activity") }
    var app: String?
    if elements[3].kind != .null { app = try text(elements[3], "the app", atMost: Limits.identifier) }
    // Older versions do not tell it.
    let order = elements.count > 5 ? elements[5].int64.flatMap { UInt64(exactly: $0) } : nil
    return PushRequest(
      number: number, activity: activity, app: app, milliseconds: try time(elements[4]), order: order)
  }

  private static func deliverPush(_ number: UInt64, _ elements: [Value]) throws(SegueError) -> DeviceMessage {
    guard elements.count > 3, let id = elements[2].uuid else { throw malformed("the push") }
    return .deliverPush(number: number, id, milliseconds: try time(elements[3]))
  }

  private static func time(_ value: Value) throws(SegueError) -> Int64 {
    guard let milliseconds = value.int64, 1...Limits.longestAsk ~= milliseconds else { throw malformed("the time") }
    return milliseconds
  }

  private static func answer(_ elements: [Value]) throws(SegueError) -> Result<PushAnswer, SegueError> {
    guard elements.count > 3, let status = elements[2].int64.flatMap({ Int32(exactly: $0) }) else {
      throw malformed("the status")
    }
    let reason = try text(elements[3], "the reason", atMost: Limits.title)
    guard status == 0 else {
      let line = String(decoding: Text.oneLine(reason), as: UTF8.self)
      return .failure(SegueError(Status(rawValue: status) ?? .declined, DiagnosticText(of: line)))
    }
    guard elements.count > 6, let continuation = elements[4].uuid else { throw malformed("the continuation") }
    return .success(
      PushAnswer(
        continuation: continuation, bundleIdentifier: try text(elements[5], "the app", atMost: Limits.identifier),
        appName: try text(elements[6], "the name of the app", atMost: Limits.identifier)))
  }

  private static func array(_ elements: [Value]) throws(SegueError) -> [UInt8] { try Value.array(elements).encoding }

  static func text(_ value: Value, _ what: StaticString, atMost limit: Int) throws(SegueError) -> String {
    guard let text = value.string, Text.size(text) <= limit else { throw malformed(what) }
    return text
  }

  static func malformed(_ what: StaticString) -> SegueError {
    SegueError(.malformed, "message of another device: \(what) cannot be read")
  }
}

/// A request to continue an offer of the device that asks.
public struct PushRequest {
  /// The number of the push at the device that asks, at most 2^63 - 1.
  public let number: UInt64
  public let activity: Identifier
  /// The bundle identifier of the app; nil: whatever fits (R6.2).
  public let app: String?
  /// For the answer.
  public let milliseconds: Int64
  /// Rises with each push of the device that asks, also of those that a mailbox keeps (R14.5); nil: it has none.
  public let order: UInt64?

  public init(number: UInt64, activity: Identifier, app: String?, milliseconds: Int64, order: UInt64? = nil) {
    (self.number, self.activity, self.app, self.milliseconds) = (number, activity, app, milliseconds)
    self.order = order
  }
}

/// A push that is being continued.
public struct PushAnswer {
  public let continuation: Identifier
  /// The bundle identifier and the name of the app that continues it.
  public let bundleIdentifier: String
  public let appName: String

  public init(continuation: Identifier, bundleIdentifier: String, appName: String) {
    (self.continuation, self.bundleIdentifier, self.appName) = (continuation, bundleIdentifier, appName)
  }
}
