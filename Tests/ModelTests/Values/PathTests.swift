// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// Looking into values by a path (RFC 6901).
@Suite struct PathTests {
  /// The value at a path in diagnostic notation, or the status of the error.
  private func found(_ path: String, in value: Value) -> String {
    var path = path
    return path.withUTF8 { utf8 in
      do throws(SegueError) {
        var reader = try value.reader(atPath: UnsafeRawBufferPointer(utf8))
        return reader.next() == nil ? "" : reader.take()?.diagnostic ?? ""
      } catch { return "\(error.status)" }
    }
  }

  private func example() throws -> Value {
    try .dictionary([
      (key: .string("a/b"), value: .array([.null, .string("x")])),
      (key: .string("~"), value: .dictionary([(key: .string(""), value: .integer(7))])),
      (key: .integer(1), value: .bool(true)),
      (key: .string("set"), value: .set([.string("two"), .string("one")])),
    ])
  }

  @Test func `Keys, indices and escapes lead to a part`() throws {
    let value = try example()
    #expect(found("", in: value) == value.diagnostic)
    #expect(found("a~1b", in: value) == #"[null, "x"]"#)
    #expect(found("a~1b/0", in: value) == "null")
    #expect(found("a~1b/1", in: value) == #""x""#)
    #expect(found("~0/", in: value) == "7")
    #expect(found("set/0", in: value) == #""one""#)
  }

  @Test func `What is not there is not found, and what has no parts is of the wrong kind`() throws {
    let value = try example()
    for path in ["1", "no", "a", "a~1b/2", "a~1b/00", "a~1b/01", "a~1b/-0", "a~1b/", "a~1b/9223372036854775808", "~0"] {
      #expect(found(path, in: value) == (path == "~0" ? #"{"": 7}"# : "notFound"), "\(path)")
    }
    #expect(found("a~1b/1/0", in: value) == "wrongKind")
    #expect(found("0", in: .null) == "wrongKind")
    for path in ["~", "~2", "a~/b"] { #expect(found(path, in: value) == "invalidArgument", "\(path)") }
  }

  @Test func `An element is found by its index, and there are no others`() throws {
    let value = try Value.array([.bool(true), .null])
    for index in [-1, 2, .max, .min] {
      let isThere = value.reader(atElement: index) != nil
      #expect(!isThere, "\(index)")
    }
    if var reader = value.reader(atElement: 1) {
      #expect(reader.next()?.kind == .null)
    } else {
      Issue.record("the last element is not found")
    }
    let isThere = Value.null.reader(atElement: 0) != nil
    #expect(!isThere)
  }
}
