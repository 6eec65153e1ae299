// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

@testable import SegueModel
import Testing

struct JSONRoundTripTests {
  @Test(arguments: 0..<16)
  func `Every value comes back from tagged text, whose form is the only one`(seed: Int) throws {
    var values = RandomValues(seed: UInt64(seed))
    for _ in 0..<200 {
      let value = try values.value()
      for mode in [JSONMode.tagged, .taggedIntegers] {
        let written = text(value, mode)
        let read = try json(written, mode).get()
        #expect(read == value, "seed \(seed): \(written)")
        #expect(text(read, mode) == written)
      }
      #expect(!text(value, .forPeople).isEmpty)
      guard let read = try? json(text(value, .plain)).get() else { continue }
      #expect(read == value, "seed \(seed)")
    }
  }

  @Test(arguments: 0..<8)
  func `Text with one byte changed gives a value or an error, and nothing else`(seed: Int) throws {
    var values = RandomValues(seed: UInt64(seed))
    for _ in 0..<100 {
      var written = Array(text(try values.value(), .tagged).utf8)
      for _ in 0..<20 where !written.isEmpty {
        let place = Int.random(in: 0..<written.count, using: &values.random)
        let former = written[place]
        written[place] = Array("\"\\{}[]$:,0-.e\u{0}\u{80} a".utf8).randomElement(using: &values.random)!
        if let read = try? json(written, .tagged).get() {
          #expect(try json(text(read, .tagged), .tagged).get() == read)
        }
        _ = json(Array(written[..<place]), .tagged)
        written[place] = former
      }
    }
  }
}
