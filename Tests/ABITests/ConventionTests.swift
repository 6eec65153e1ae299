// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import Testing

extension OneAtATime {
  /// The promises of segue.h about every call that no other suite checks.
  @Suite struct ConventionTests {
    private let library = SharedLibrary.shared

    private func withActivity(_ body: (UInt) throws -> Void) throws {
      let before = library.liveHandles
      var activity: UInt = 0
      let status = "com.example.type".withCString { type in
        withUnsafeMutablePointer(to: &activity) {
          library.status(
            "segue_activity_create", .null, .pointer(UnsafeRawPointer(type)), .int(-1), .pointer(UnsafeRawPointer($0)))
        }
      }
      try #require(status == ok)
      try body(activity)
      #expect(library.status("segue_release", .handle(activity)) == ok)
      #expect(library.liveHandles == before)
    }

    /// The title, and whether there is a NUL behind it.
    private func title(_ activity: UInt) throws -> (bytes: [UInt8], isTerminated: Bool) {
      var text: UInt = 0
      var length = 0
      let status = withUnsafeMutablePointer(to: &text) { text in
        withUnsafeMutablePointer(to: &length) {
          library.status("segue_activity_get_title", .handle(activity), .pointer(text), .pointer($0))
        }
      }
      try #require(status == ok)
      let start = try #require(UnsafePointer<UInt8>(bitPattern: text))
      defer { library.call("segue_free", .handle(text)) }
      return (Array(UnsafeBufferPointer(start: start, count: length)), start[length] == 0)
    }

    @Test func `a text may hold NUL bytes, and a C string ends at the first`() throws {
      let bytes: [UInt8] = [0x61, 0, 0xC3, 0xA9, 0]
      try withActivity { activity in
        for (length, expected) in [(bytes.count, bytes), (2, [0x61, 0]), (-1, [0x61]), (0, [])] {
          let status = bytes.withUnsafeBytes {
            library.status("segue_activity_set_title", .handle(activity), .pointer($0.baseAddress), .int(length))
          }
          #expect(status == ok)
          let title = try title(activity)
          #expect(title.bytes == expected)
          #expect(title.isTerminated)
        }
      }
    }

    @Test func `the last error is its thread's own`() {
      #expect(library.status("segue_release", .handle(1)) == invalidHandle)
      let mine = library.lastMessage
      let others = Box()
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread { [library] in
        others.messages.append(library.lastMessage)
        _ = library.status("segue_limit_get", .int(-1), .null)
        others.messages.append(library.lastMessage)
        done.signal()
      }
      done.wait()
      #expect(others.messages.first == "")
      #expect(others.messages.last?.isEmpty == false)
      #expect(others.messages.last != mine)
      #expect(library.lastMessage == mine)
    }

    @Test func `a handle that a callback is lent ends with it, unless it was retained`() throws {
      let pair = try Pair()
      let lent = pair.lent
      #expect(Set(lent.keys) == ["segue_activity", "segue_save"])
      let activity = try #require(lent["segue_activity"])
      #expect(library.status("segue_activity_get_valid", .handle(activity), .null) == invalidHandle)
      // This one was retained, and is the same handle still.
      #expect(lent["segue_save"] == pair.handles["segue_save"])
      #expect(library.status("segue_save_complete", .handle(lent["segue_save"] ?? 0)) == invalidState)
      pair.end()
    }
  }
}

/// The error messages that another thread has read.
private final class Box: @unchecked Sendable {
  var messages: [String] = []
}
