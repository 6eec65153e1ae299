// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A message between a relay and a device that uses it (R14.3): an array that begins with its number, as those of
/// `DeviceMessage`, whose numbers these follow.
public enum RelayMessage {
  /// Whether the sender passes bytes on, and the devices with which it is linked, not through a relay itself; at most
  /// `Limits.devices`.
  case role(isRelaying: Bool, linked: [Identifier])
  /// About a channel between the device that sends it and the relay.
  case toRelay(UInt64, RelayStep)
  /// About a channel between the relay that sends it and the device.
  case fromRelay(UInt64, RelayStep)

  /// The most bytes of one message: as many as a record of TLS has; and of one that fits into a record with its frame.
  public static let dataLimit = 16 * 1024
  static let pieceSize = dataLimit - 128
  private static let (roleNumber, toRelayNumber, fromRelayNumber): (UInt8, UInt8, UInt8) = (15, 16, 17)

  /// Whether a message is one of these. It need not wait for the thread of the account.
  public static func isOne(_ encoding: [UInt8]) -> Bool {
    // The first byte of an array, and the number of a message, in deterministic CBOR.
    encoding.count > 1 && encoding[0] & 0xE0 == 0x80 && roleNumber...fromRelayNumber ~= encoding[1]
  }

  public func encoding() throws(SegueError) -> [UInt8] {
    switch self {
    case .role(let isRelaying, let linked):
      try Value.array([
        .unsigned(UInt64(Self.roleNumber)), .bool(isRelaying),
        try .array(linked.prefix(Limits.devices).map { .uuid($0) }),
      ]).encoding
    case .toRelay(let channel, let step): try Self.encoding(Self.toRelayNumber, channel, step)
    case .fromRelay(let channel, let step): try Self.encoding(Self.fromRelayNumber, channel, step)
    }
  }

  private static func encoding(_ number: UInt8, _ channel: UInt64, _ step: RelayStep) throws(SegueError) -> [UInt8] {
    let head: [Value] = [.unsigned(UInt64(number)), .unsigned(channel), .unsigned(step.number)]
    switch step {
    case .open(let device): return try Value.array(head + [.uuid(device)]).encoding
    case .opened: return try Value.array(head).encoding
    case .data(let offset, let bytes): return RelayData.encoding(number, channel, offset, bytes)
    case .credit(let consumed, let limit):
      return try Value.array(head + [.unsigned(consumed)] + (limit.map { [.unsigned($0)] } ?? [])).encoding
    case .closed(let end): return try Value.array(head + [.unsigned(end.rawValue)]).encoding
    }
  }

  /// Elements beyond those that are read are ignored: a later version may tell more of them. Throws MALFORMED.
  public init(_ encoding: [UInt8]) throws(SegueError) {
    if let data = RelayData(encoding), 1...Self.dataLimit ~= data.bytes.count {
      if data.number == Self.toRelayNumber {
        self = .toRelay(data.channel, .data(data.offset, data.bytes))
        return
      } else if data.number == Self.fromRelayNumber {
        self = .fromRelay(data.channel, .data(data.offset, data.bytes))
        return
      }
    }
    guard let elements = try Value(cbor: encoding).elements, elements.count > 2 else { throw Self.malformed }
    switch encoding[1] {
    case Self.roleNumber:
      guard let isRelaying = elements[1].bool, let told = elements[2].elements else { throw Self.malformed }
      var linked: [Identifier] = []
      for each in told.prefix(Limits.devices) {
        guard let device = each.uuid else { throw Self.malformed }
        if !linked.contains(device) { linked.append(device) }
      }
      self = .role(isRelaying: isRelaying, linked: linked)
    case Self.toRelayNumber: self = .toRelay(try Self.number(elements[1]), try RelayStep(elements))
    case Self.fromRelayNumber: self = .fromRelay(try Self.number(elements[1]), try RelayStep(elements))
    default: throw Self.malformed
    }
  }

  fileprivate static func number(_ value: Value) throws(SegueError) -> UInt64 {
    guard let number = value.int64.flatMap({ UInt64(exactly: $0) }) else { throw malformed }
    return number
  }

  fileprivate static var malformed: SegueError {
    SegueError(.malformed, "message of another device about a relay: cannot be read")
  }
}

/// A step of a channel between a relay and a device. Offsets count the bytes of one direction, from 0.
public enum RelayStep {
  /// To the relay: connect this channel with that device. From the relay: that device asks for a connection.
  case open(Identifier)
  /// The other device has taken it.
  case opened
  /// Bytes, the first of which has this offset; 1 to `RelayMessage.dataLimit`.
  case data(UInt64, [UInt8])
  /// All bytes before this offset are consumed. From a relay with the offset up to which further ones may be sent; nil:
  /// `RelayWindow.size` beyond.
  case credit(UInt64, limit: UInt64? = nil)
  /// It has ended.
  case closed(RelayEnd)

  fileprivate var number: UInt64 {
    switch self {
    case .open: 0
    case .opened: 1
    case .data: 2
    case .credit: 3
    case .closed: 4
    }
  }

  /// Throws MALFORMED.
  fileprivate init(_ elements: [Value]) throws(SegueError) {
    let number = try RelayMessage.number(elements[2])
    if number == 1 {
      self = .opened
      return
    }
    guard elements.count > 3 else { throw RelayMessage.malformed }
    switch number {
    case 0:
      guard let device = elements[3].uuid else { throw RelayMessage.malformed }
      self = .open(device)
    case 2:
      guard elements.count > 4, let bytes = elements[4].data, 1...RelayMessage.dataLimit ~= bytes.count else {
        throw RelayMessage.malformed
      }
      self = .data(try RelayMessage.number(elements[3]), bytes)
    case 3:
      let limit = elements.count > 4 ? try RelayMessage.number(elements[4]) : nil
      self = .credit(try RelayMessage.number(elements[3]), limit: limit)
    case 4: self = .closed(RelayEnd(rawValue: try RelayMessage.number(elements[3])) ?? .ended)
    default: throw RelayMessage.malformed
    }
  }
}

/// The reason for which a channel through a relay has ended.
public enum RelayEnd: UInt64, Sendable {
  /// An end has closed it.
  case ended
  /// The user of the relay has not switched it on.
  case off
  /// The relay is not linked with the other device.
  case notLinked
  /// The relay reaches one of the two through a relay itself: one hop is all.
  case secondHop
  /// A device has as many channels as it may.
  case tooMany
  /// A device opens channels too often.
  case tooOften
  /// An end has sent what it must not.
  case violated
  /// Bytes were lost: a link has ended with them.
  case lost
  /// There is no such channel, or no longer.
  case unknown
  /// The link of the relay with the other device has ended.
  case cut
  /// The other device takes no connection now.
  case refused

  /// - Parameters:
  ///   - relay: its name.
  ///   - device: that of the device at the other end.
  func error(_ relay: String, _ device: String) -> SegueError {
    switch self {
    case .ended: SegueError(.connectionUnavailable, "\(device) has closed the connection through \(relay)")
    case .off: SegueError(.notAllowed, "\(relay) does not pass bytes on")
    case .notLinked: SegueError(.connectionUnavailable, "\(relay) is not linked with \(device)")
    case .secondHop:
      SegueError(.notAllowed, "\(relay) reaches \(device) or this device through another relay: one hop is all")
    case .tooMany: SegueError(.limitExceeded, "\(relay) passes on as many connections as it may")
    case .tooOften: SegueError(.limitExceeded, "\(relay) was asked too often by this device")
    case .violated: SegueError(.malformed, "\(relay): bytes that are none of this connection")
    case .lost: SegueError(.connectionUnavailable, "\(relay) has lost bytes of this connection")
    case .unknown: SegueError(.connectionUnavailable, "\(relay) does not know this connection")
    case .cut: SegueError(.connectionUnavailable, "\(relay) has lost the link with \(device)")
    case .refused: SegueError(.connectionUnavailable, "\(device) takes no connection through \(relay) now")
    }
  }
}
