// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The message with bytes of a channel, as it comes again and again: read and written without a value for each part, in
/// deterministic CBOR (RFC 8949 §4.2.1), as `Value` has it.
struct RelayData {
  let number: UInt8
  let channel: UInt64
  let offset: UInt64
  let bytes: [UInt8]

  /// The head of an array of five elements, and the number of the step.
  private static let (array, step): (UInt8, UInt8) = (0x85, 2)

  static func encoding(_ number: UInt8, _ channel: UInt64, _ offset: UInt64, _ bytes: [UInt8]) -> [UInt8] {
    let start = [array, number] + Self.head(0, channel) + [step]
    let head = start + Self.head(0, offset) + Self.head(2, UInt64(bytes.count))
    return [UInt8](unsafeUninitializedCapacity: head.count + bytes.count) { buffer, count in
      let all = UnsafeMutableRawBufferPointer(buffer)
      head.withUnsafeBytes { all.copyMemory(from: $0) }
      bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: all[head.count...]).copyMemory(from: $0) }
      count = head.count + bytes.count
    }
  }

  /// The head of an element: its major type and argument.
  private static func head(_ type: UInt8, _ argument: UInt64) -> [UInt8] {
    let (information, size): (UInt8, Int) =
      switch argument {
      case 0..<24: (UInt8(argument), 0)
      case 24...0xFF: (24, 1)
      case 0x100...0xFFFF: (25, 2)
      case 0x1_0000...0xFFFF_FFFF: (26, 4)
      default: (27, 8)
      }
    return [type << 5 | information]
      + (0..<size).map { UInt8(truncatingIfNeeded: argument >> UInt64(8 * (size - 1 - $0))) }
  }

  /// Nil for another message, and for one that is not quite as written here.
  init?(_ encoding: [UInt8]) {
    guard encoding.count > 6, encoding[0] == Self.array, encoding[1] < 24 else { return nil }
    var place = 2
    /// Reads the head of an element.
    func argument(_ type: UInt8) -> UInt64? {
      guard place < encoding.count, encoding[place] >> 5 == type else { return nil }
      let information = encoding[place] & 31
      place += 1
      if information < 24 { return UInt64(information) }
      guard information < 28 else { return nil }
      let (size, least) = (1 << Int(information - 24), [24, 0x100, 0x1_0000, 0x1_0000_0000][Int(information - 24)])
      guard place + size <= encoding.count else { return nil }
      var argument: UInt64 = 0
      for index in place..<(place + size) { argument = argument << 8 | UInt64(encoding[index]) }
      place += size
      return argument >= UInt64(least) && argument <= UInt64(Int64.max) ? argument : nil
    }
    guard let channel = argument(0), argument(0) == UInt64(Self.step), let offset = argument(0),
      let size = argument(2), size == UInt64(encoding.count - place)
    else { return nil }
    (number, self.channel, self.offset) = (encoding[1], channel, offset)
    bytes = encoding.withUnsafeBytes { RelayData.copy(UnsafeRawBufferPointer(rebasing: $0[place...])) }
  }

  /// A copy in one piece.
  static func copy(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
      UnsafeMutableRawBufferPointer(buffer).copyMemory(from: bytes)
      count = bytes.count
    }
  }
}
