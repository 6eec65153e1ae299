// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Testing

@testable import SegueModel

struct RandomValueTests {
  static let seeds = (0..<16).map { UInt64($0) }

  @Test(arguments: seeds)
  func `A random value survives encoding, in any form that CBOR allows (R1.2)`(seed: UInt64) throws {
    var source = RandomValues(seed: seed)
    for step in 0..<200 {
      let value = try source.value()
      let place = "seed \(seed), step \(step): \(value.diagnostic)"
      #expect(value.encoding.withUnsafeBytes { CanonicalScan.accepts($0) }, "\(place)")
      #expect(value.diagnostic.utf8.count <= value.diagnosticSize, "\(place)")
      #expect(try Value(cbor: value.encoding) == value, "\(place)")
      #expect(try normalised(value.encoding).get() == value, "\(place)")
      let loose = source.loose(value)
      #expect(try Value(cbor: loose) == value, "\(place) from \(hexadecimal(loose))")
    }
  }

  @Test(arguments: seeds)
  func `Parts of a random value make it again`(seed: UInt64) throws {
    var source = RandomValues(seed: seed)
    for _ in 0..<200 {
      let value = try source.value()
      let copy: Value =
        switch value.kind {
        case .null: .null
        case .bool: .bool(value.bool!)
        case .integer: value.uint64.map { .unsigned($0) } ?? .integer(value.int64!)
        case .double: .double(value.double!)
        case .string: .string(value.string!)
        case .data: .data(value.data!)
        case .date: try .date(value.date!)
        case .url: try .url(value.url!)
        case .uuid: .uuid(value.uuid!)
        case .array: try .array(value.elements!)
        case .set: try .set(value.elements!.reversed())
        case .dictionary: try .dictionary(value.entries!.reversed())
        }
      #expect(copy == value, "seed \(seed): \(value.diagnostic)")
      for entry in value.entries ?? [] {
        #expect(value[entry.key] == entry.value, "seed \(seed): \(value.diagnostic)")
      }
    }
  }

  @Test(arguments: seeds)
  func `The fast path takes only what the slow path leaves as it is`(seed: UInt64) throws {
    var source = RandomValues(seed: seed)
    for _ in 0..<50 {
      var cbor = try source.value(depth: 2).encoding
      for _ in 0..<40 {
        let place = Int.random(in: 0..<cbor.count, using: &source.random)
        cbor[place] = UInt8.random(in: 0...255, using: &source.random)
        let slow = normalised(cbor)
        let isKept = (try? slow.get())?.encoding == cbor
        #expect(cbor.withUnsafeBytes { CanonicalScan.accepts($0) } == isKept, "seed \(seed): \(hexadecimal(cbor))")
      }
    }
  }

  @Test(arguments: seeds)
  func `The middle path gives what the slow path gives, or nothing`(seed: UInt64) throws {
    var source = RandomValues(seed: seed)
    var taken = 0
    for _ in 0..<50 {
      var cbor = source.loose(try source.value(depth: 2))
      for _ in 0..<40 {
        if let copy = cbor.withUnsafeBytes({ CanonicalCopy.encoding(of: $0) }) {
          taken += 1
          #expect(try normalised(cbor).get().encoding == copy, "seed \(seed): \(hexadecimal(cbor))")
        }
        let place = Int.random(in: 0..<cbor.count, using: &source.random)
        cbor[place] = UInt8.random(in: 0...255, using: &source.random)
      }
    }
    #expect(taken > 50)
  }

  @Test
  func `The middle path takes what other encoders write: long forms, any order`() throws {
    let loose = bytes("a3 616c 1a000000ff 6161 fb3ff8000000000000 6164 c1 fb41d954fc40000000")
    let copy = try #require(loose.withUnsafeBytes { CanonicalCopy.encoding(of: $0) })
    #expect(hexadecimal(copy) == hexadecimal(bytes("a3 6161 f93e00 6164 c1 1a6553f100 616c 18ff")))
  }
}
