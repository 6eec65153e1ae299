// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A repeatable source of randomness (SplitMix64).
struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }
}

/// Random values of all kinds, and the same values in encodings that are not deterministic.
struct RandomValues {
  var random: Seeded
  init(seed: UInt64) { random = Seeded(seed: seed) }

  mutating func value(depth: Int = 4) throws(SegueError) -> Value {
    switch Int.random(in: 0...(depth > 0 ? 12 : 9), using: &random) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &random))
    case 2: return .integer(Int64(bitPattern: random.next()) >> Int64.random(in: 0...63, using: &random))
    case 3: return .unsigned(random.next() >> UInt64.random(in: 0...63, using: &random))
    case 4: return .double(number())
    case 5: return .string(text())
    case 6:
      return .data((0..<Int.random(in: 0...300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
    case 7: return .uuid(Identifier(high: random.next(), low: random.next()))
    case 8: return try .url("scheme-\(random.next()):\(random.next())")
    case 9:
      let number = number()
      return try .date(number.isFinite ? number : 0.5)
    case 10: return try .array(try values(depth - 1))
    case 11: return try .set(Self.distinct(try values(depth - 1)))
    default:
      var entries: [(key: Value, value: Value)] = []
      for key in Self.distinct(try values(depth - 1)) { entries.append((key, try value(depth: depth - 1))) }
      return try .dictionary(entries)
    }
  }

  private mutating func values(_ depth: Int) throws(SegueError) -> [Value] {
    var result: [Value] = []
    for _ in 0..<Int.random(in: 0...(depth == 0 ? 40 : 5), using: &random) { result.append(try value(depth: depth)) }
    return result
  }

  /// In random order, each once.
  private static func distinct(_ values: [Value]) -> [Value] {
    var result: [Value] = []
    for value in values where !result.contains(value) { result.append(value) }
    return result
  }

  private mutating func number() -> Double {
    switch Int.random(in: 0...5, using: &random) {
    case 0:
      return [0.0, -0.0, .infinity, -.infinity, .nan, 0x1p-24, 65504, 0x1p53, -0x1p53].randomElement(using: &random)!
    case 1: return Double(Int64(bitPattern: random.next()) >> Int64.random(in: 0...63, using: &random))
    case 2: return Double(Float(bitPattern: UInt32(truncatingIfNeeded: random.next())))
    case 3: return Double(Int.random(in: -2047...2047, using: &random)) * 0x1p-15
    default: return Double(bitPattern: random.next())
    }
  }

  private mutating func text() -> String {
    let alphabet: [Unicode.Scalar] = [
      "a", "b", "\0", "\"", "é", "e", "\u{301}", "水", "𐅑", "\u{10ffff}", "\u{800}", "z",
    ]
    var text = ""
    for _ in 0..<Int.random(in: 0...30, using: &random) {
      text.unicodeScalars.append(alphabet.randomElement(using: &random)!)
    }
    return text
  }

  /// An encoding of the same value with longer heads, indefinite lengths, and other orders.
  mutating func loose(_ value: Value) -> [UInt8] {
    switch value.kind {
    case .null, .bool: return value.encoding
    case .integer:
      if let unsigned = value.uint64 { return head(0, unsigned) }
      return head(1, UInt64(bitPattern: ~value.int64!))
    case .double: return float(value.double!)
    case .date:
      let seconds = value.date!
      guard Bool.random(using: &random), seconds.magnitude <= 0x1p53, let integer = Int64(exactly: seconds) else {
        return head(6, 1) + float(seconds)
      }
      return head(6, 1) + (integer < 0 ? head(1, UInt64(~integer)) : head(0, UInt64(integer)))
    case .string: return chunks(3, value.string!.unicodeScalars.map { Array(String($0).utf8) })
    case .url: return head(6, 32) + chunks(3, value.url!.utf8.map { [$0] })
    case .data: return chunks(2, value.data!.map { [$0] })
    case .uuid: return head(6, 37) + chunks(2, value.uuid!.bytes.map { [$0] })
    case .array: return container(4, value.elements!.map { [$0] })
    case .set: return head(6, 258) + container(4, value.elements!.shuffled(using: &random).map { [$0] })
    case .dictionary: return container(5, value.entries!.shuffled(using: &random).map { [$0.key, $0.value] })
    }
  }

  private mutating func head(_ major: UInt8, _ argument: UInt64) -> [UInt8] {
    var sizes: [(UInt8, Int)] = [(27, 8)]
    if argument < 24 { sizes.append((UInt8(argument), 0)) }
    if argument <= 0xff { sizes.append((24, 1)) }
    if argument <= 0xffff { sizes.append((25, 2)) }
    if argument <= 0xffff_ffff { sizes.append((26, 4)) }
    let (information, size) = sizes.randomElement(using: &random)!
    return [major << 5 | information]
      + (0..<size).reversed().map { UInt8(truncatingIfNeeded: argument >> UInt64(8 * $0)) }
  }

  private mutating func float(_ number: Double) -> [UInt8] {
    if Bool.random(using: &random) { return Value.double(number).encoding }
    if !number.isNaN, Double(Float(number)) == number, Bool.random(using: &random) {
      return [0xfa] + (0..<4).reversed().map { UInt8(truncatingIfNeeded: Float(number).bitPattern >> UInt32(8 * $0)) }
    }
    return [0xfb] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: number.bitPattern >> UInt64(8 * $0)) }
  }

  private mutating func chunks(_ major: UInt8, _ pieces: [[UInt8]]) -> [UInt8] {
    let whole = pieces.flatMap { $0 }
    if Bool.random(using: &random) { return head(major, UInt64(whole.count)) + whole }
    let cut = Int.random(in: 0...pieces.count, using: &random)
    let parts = [pieces[..<cut].flatMap { $0 }, pieces[cut...].flatMap { $0 }]
    return [major << 5 | 31] + parts.flatMap { head(major, UInt64($0.count)) + $0 } + [0xff]
  }

  private mutating func container(_ major: UInt8, _ items: [[Value]]) -> [UInt8] {
    let content = items.flatMap { $0 }.flatMap { loose($0) }
    if Bool.random(using: &random) { return head(major, UInt64(items.count)) + content }
    return [major << 5 | 31] + content + [0xff]
  }
}
