// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The 16 bytes that name an app, an activity (and its offer) or a continuation, drawn at random by its creator.
public struct Identifier: Hashable, Comparable, Sendable {
  public static let size = 16
  private let high: UInt64
  private let low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Nil unless there are exactly 16 bytes.
  public init?(bytes: some Sequence<UInt8>) {
    var high: UInt64 = 0
    var low: UInt64 = 0
    var count = 0
    for byte in bytes {
      guard count < Self.size else { return nil }
      if count < 8 { high = high << 8 | UInt64(byte) } else { low = low << 8 | UInt64(byte) }
      count += 1
    }
    guard count == Self.size else { return nil }
    self.init(high: high, low: low)
  }

  /// Reads 16 bytes from `pointer`.
  init(trusted pointer: UnsafeRawPointer) {
    high = pointer.loadUnaligned(as: UInt64.self).bigEndian
    low = pointer.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian
  }

  public var bytes: [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(Self.size)
    for word in [high, low] {
      for shift in stride(from: 56, through: 0, by: -8) {
        result.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    return result
  }

  /// A seed for what is to differ from one holder to the next.
  public var seed: UInt64 { high ^ low }

  /// Writes the bytes to `pointer`, which has room for them.
  public func write(to pointer: UnsafeMutableRawPointer) {
    pointer.storeBytes(of: high.bigEndian, as: UInt64.self)
    pointer.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
  }

  /// The name of a continuation between the agent and the app to which it delivers (R3.8): it follows from that between
  /// the agent and the origin, of which it differs, so that a hub can tell the two apart.
  public var ofDelivery: Identifier { Identifier(high: high, low: low ^ 1) }

  public static func < (left: Identifier, right: Identifier) -> Bool {
    left.high != right.high ? left.high < right.high : left.low < right.low
  }
}
