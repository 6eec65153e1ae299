// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Words between a relay and a device that uses it (R14.3). A channel begins with a message about the account: an array
/// that begins with its number, as those of `DeviceMessage`. All that follows in the channel is a frame of the link.
public enum RelayMessage {
  /// Whether the sender passes bytes on, and the devices with which it is linked, not through a relay itself; at most
  /// `Limits.devices`.
  case role(isRelaying: Bool, linked: [Identifier])
  /// About a channel between the device that sends it and the relay.
  case toRelay(UInt32, RelayStep)
  /// About a channel between the relay that sends it and the device.
  case fromRelay(UInt32, RelayStep)

  /// The form in which it crosses a link.
  public enum Form {
    case message([UInt8])
    case frame(RelayFrame)
  }

  private static let (roleNumber, toRelayNumber, fromRelayNumber): (UInt8, UInt8, UInt8) = (24, 25, 26)
  /// The bit of the channel of a frame that tells a channel from a relay from one to a relay.
  private static let fromRelayBit: UInt32 = 1 << 31

  /// Whether a message is one of these. It need not wait for the thread of the account.
  public static func isOne(_ encoding: [UInt8]) -> Bool {
    // The first byte of an array, and the number of a message in two bytes, in deterministic CBOR.
    encoding.count > 2 && encoding[0] & 0xE0 == 0x80 && encoding[1] == 0x18
      && roleNumber...fromRelayNumber ~= encoding[2]
  }

  /// Throws LIMIT_EXCEEDED.
  public var form: Form {
    get throws(SegueError) {
      switch self {
      case .role(let isRelaying, let linked):
        try .message(
          Value.array([
            .unsigned(UInt64(Self.roleNumber)), .bool(isRelaying),
            try .array(linked.prefix(Limits.devices).map { .uuid($0) }),
          ]).encoding)
      case .toRelay(let channel, let step): try Self.form(Self.toRelayNumber, channel, step, channel)
      case .fromRelay(let channel, let step):
        try Self.form(Self.fromRelayNumber, channel, step, channel | Self.fromRelayBit)
      }
    }
  }

  private static func form(
    _ number: UInt8, _ channel: UInt32, _ step: RelayStep, _ wire: UInt32
  ) throws(SegueError) -> Form {
    let head: [Value] = [.unsigned(UInt64(number)), .unsigned(UInt64(channel))]
    switch step {
    case .open(let device): return try .message(Value.array(head + [.uuid(device)]).encoding)
    case .opened: return try .message(Value.array(head + [.bool(true)]).encoding)
    case .data(let offset, let bytes): return .frame(.bytes(channel: wire, offset: offset, bytes))
    case .credit(let consumed, let limit):
      return .frame(.credit(channel: wire, consumed: consumed, limit: limit))
    case .closed(let end): return .frame(.end(channel: wire, reason: end.rawValue))
    }
  }

  /// The meaning of a frame of a device.
  public init(_ frame: RelayFrame) {
    let (wire, step): (UInt32, RelayStep) =
      switch frame {
      case .bytes(let channel, let offset, let bytes): (channel, .data(offset, bytes))
      case .credit(let channel, let consumed, let limit): (channel, .credit(consumed, limit: limit))
      case .end(let channel, let reason): (channel, .closed(RelayEnd(rawValue: reason) ?? .ended))
      }
    self = wire & Self.fromRelayBit == 0 ? .toRelay(wire, step) : .fromRelay(wire & ~Self.fromRelayBit, step)
  }

  /// Elements beyond those that are read are ignored: a later version may tell more of them. Throws MALFORMED.
  public init(_ encoding: [UInt8]) throws(SegueError) {
    guard Self.isOne(encoding), let elements = try Value(cbor: encoding).elements, elements.count > 2 else {
      throw Self.malformed
    }
    switch encoding[2] {
    case Self.roleNumber:
      guard let isRelaying = elements[1].bool, let told = elements[2].elements else { throw Self.malformed }
      var linked: [Identifier] = []
      for each in told.prefix(Limits.devices) {
        guard let device = each.uuid else { throw Self.malformed }
        if !linked.contains(device) { linked.append(device) }
      }
      self = .role(isRelaying: isRelaying, linked: linked)
    case Self.toRelayNumber: self = .toRelay(try Self.channel(elements[1]), try RelayStep(elements[2]))
    case Self.fromRelayNumber: self = .fromRelay(try Self.channel(elements[1]), try RelayStep(elements[2]))
    default: throw Self.malformed
    }
  }

  private static func channel(_ value: Value) throws(SegueError) -> UInt32 {
    guard let number = value.int64, let channel = UInt32(exactly: number), channel != 0, channel & fromRelayBit == 0
    else { throw malformed }
    return channel
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
  /// Bytes, the first of which has this offset; 1 to `RelayFrame.dataLimit`.
  case data(UInt64, ArraySlice<UInt8>)
  /// All bytes before this offset are consumed, and those before the limit may be sent. A relay sets its own limit.
  case credit(UInt64, limit: UInt64)
  /// It has ended.
  case closed(RelayEnd)

  /// - Parameter value: the device that it is to be connected with, or true: the other device has taken it. Throws
  ///   MALFORMED.
  fileprivate init(_ value: Value) throws(SegueError) {
    if let device = value.uuid {
      self = .open(device)
    } else if value.bool == true {
      self = .opened
    } else {
      throw RelayMessage.malformed
    }
  }
}
