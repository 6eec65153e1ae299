// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueManifests
import SegueModel
import Testing

/// Property lists that would cost more than they are worth (R6.1).
@Suite struct PropertyListBoundsTests {
  private func error(_ bytes: [UInt8]) -> String? {
    bytes.withUnsafeBytes { bytes in
      do throws(SegueError) {
        _ = try PropertyList.read(bytes)
        return nil
      } catch {
        return error.message
      }
    }
  }

  /// A binary property list of these objects.
  private func binary(_ objects: [[UInt8]]) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
      offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
      bytes += object
    }
    let table = UInt8(bytes.count)
    func number(_ value: UInt8) -> [UInt8] { [0, 0, 0, 0, 0, 0, 0, value] }
    return bytes + offsets + [0, 0, 0, 0, 0, 0, 2, 1] + number(UInt8(objects.count)) + number(0) + number(table)
  }

  private func xml(_ body: String, _ head: String = "") -> [UInt8] {
    Array("<?xml version=\"1.0\"?>\(head)<plist>\(body)</plist>".utf8)
  }

  @Test func `an object that contains itself, or is shared, counts each time`() {
    #expect(error(binary([[0xA1, 0]])) == "more than 32 levels of nesting")
    let levels = (1...6).map { [0xAA] + [UInt8](repeating: $0, count: 10) }
    #expect(error(binary(levels + [[0x09]])) == "more than 10000 values")
    #expect(error(binary([[0xA2, 1, 1], [0x09]])) == nil)
  }

  @Test func `a reference, an offset or a length beyond the file is refused`() {
    #expect(error(binary([[0xA1, 9]])) == "a reference to an object that is not there")
    #expect(error(binary([[0x5F, 0x10, 200]])) == "an object that is longer than the file")
    #expect(error(binary([[0x4F, 0x13, 0x7F, 255, 255, 255, 255, 255, 255, 255]]))?.contains("longer") == true)
    #expect(error(Array(binary([[0x09]]).dropLast()))?.contains("trailer") == true)
  }

  @Test func `depth, count and size of XML are bounded, and entities are refused`() {
    #expect(error(xml(String(repeating: "<array>", count: 33))) == "line 1: more than 32 levels of nesting")
    let many = "<array>\(String(repeating: "<true/>", count: 10_000))</array>"
    #expect(error(xml(many)) == "line 1: more than 10000 values")
    #expect(error(xml(String(repeating: " ", count: 262_144))) == "262180 bytes, at most 262144 are allowed")
    #expect(
      error(xml("<string>&a;</string>", "<!DOCTYPE plist [<!ENTITY a 'b'>]>"))
        == "line 1: the document type declares something of its own, which is refused")
    #expect(error(xml("<true/>", "<!DOCTYPE plist PUBLIC 'a' 'http://www.apple.com/x.dtd'>")) == nil)
  }

  @Test func `a key that is there twice is refused, in both forms`() {
    #expect(error(binary([[0xD2, 1, 1, 2, 2], [0x51, 0x61], [0x09]])) == "the key a is there twice")
    let twice = "<dict><key>a</key><true/><key>a</key><true/></dict>"
    #expect(error(xml(twice)) == "line 1: the key a is there twice")
  }
}
