// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSegue
import Foundation
import SegueApp
import SegueModel
import SegueRuntime
import Testing

@testable import SegueABI

@Suite(.serialized) struct BasicsTests {
  @Test func `every status has its name and its Foundation number`() {
    for status in Status.allCases {
      let name = String(cString: segue_status_name(status.rawValue))
      #expect(name != "UNKNOWN" && !name.isEmpty)
      #expect(segue_status_foundation_code(status.rawValue) == status.foundationCode)
    }
    for other: Int32 in [-1, 25, 26, .max, .min] {
      #expect(String(cString: segue_status_name(other)) == "UNKNOWN")
      #expect(segue_status_foundation_code(other) == 0)
    }
  }

  @Test func `R3.11: five statuses carry the numbers of Foundation`() {
    #expect(segue_status_foundation_code(SEGUE_ERROR_HANDOFF_FAILED) == 4608)
    #expect(segue_status_foundation_code(SEGUE_ERROR_CONNECTION_UNAVAILABLE) == 4609)
    #expect(segue_status_foundation_code(SEGUE_ERROR_REMOTE_APPLICATION_TIMED_OUT) == 4610)
    #expect(segue_status_foundation_code(SEGUE_ERROR_USER_INFO_TOO_LARGE) == 4611)
    #expect(segue_status_foundation_code(SEGUE_ERROR_USER_CANCELLED) == 3072)
  }

  @Test func `limits can be read, and set within their ranges`() {
    for name in ProcessLimits.Name.allCases {
      var value: UInt64 = 0
      #expect(segue_limit_get(name.rawValue, &value) == SEGUE_OK)
      let former = value
      guard let range = name.range else {
        #expect(segue_limit_set(name.rawValue, former) == SEGUE_ERROR_INVALID_ARGUMENT)
        continue
      }
      for bound in [range.lowerBound, range.upperBound] {
        #expect(segue_limit_set(name.rawValue, UInt64(bound)) == SEGUE_OK)
        #expect(segue_limit_get(name.rawValue, &value) == SEGUE_OK)
        #expect(value == UInt64(bound))
      }
      #expect(segue_limit_set(name.rawValue, UInt64(range.upperBound) + 1) == SEGUE_ERROR_INVALID_ARGUMENT)
      #expect(segue_limit_set(name.rawValue, .max) == SEGUE_ERROR_INVALID_ARGUMENT)
      if range.lowerBound > 0 { #expect(segue_limit_set(name.rawValue, 0) == SEGUE_ERROR_INVALID_ARGUMENT) }
      #expect(segue_limit_set(name.rawValue, former) == SEGUE_OK)
    }
    for number: Int32 in [0, 1_000, -1, .max] {
      #expect(segue_limit_get(number, nil) == SEGUE_ERROR_INVALID_ARGUMENT)
      #expect(segue_limit_set(number, 1) == SEGUE_ERROR_INVALID_ARGUMENT)
    }
  }

  @Test func `a limit that is set is what an app gets`() {
    #expect(segue_limit_set(SEGUE_LIMIT_SAVE_DELAY_MS, 0) == SEGUE_OK)
    #expect(ProcessLimits.current.saveDelay == 0)
    #expect(segue_limit_set(SEGUE_LIMIT_SAVE_DELAY_MS, 2_000) == SEGUE_OK)
  }

  @Test(arguments: ["é", "€", "😀"]) func `a message is cut at a character`(character: String) {
    _ = LastError.set(SegueError(.malformed, DiagnosticText(of: String(repeating: character, count: 600))))
    let size = character.utf8.count
    for capacity in [Int(SEGUE_MESSAGE_SIZE), 100, 10, 5, 4, 3, 2, 1] {
      var buffer = [CChar](repeating: 0x7F, count: capacity + 1)
      #expect(segue_last_error(&buffer, capacity) == SEGUE_ERROR_MALFORMED)
      #expect(buffer[capacity] == 0x7F)
      let count = buffer.firstIndex(of: 0) ?? -1
      #expect(count == (capacity - 1) / size * size)
    }
    #expect(segue_last_error(nil, 10) == SEGUE_ERROR_MALFORMED)
  }

  @Test func `a message is one line`() {
    _ = LastError.set(SegueError(.malformed, "a\nb\tc\u{7F}"))
    var buffer = [CChar](repeating: 1, count: 512)
    #expect(segue_last_error(&buffer, -1) == SEGUE_ERROR_MALFORMED)
    #expect(buffer.prefix(7).elementsEqual("a b c ".utf8.map(CChar.init) + [0]))
  }

  @Test func `each thread has its own last error`() {
    _ = LastError.set(SegueError(.notFound, "mine"))
    let other = DispatchSemaphore(value: 0)
    Foundation.Thread {
      #expect(segue_last_error(nil, 0) == SEGUE_OK)
      _ = LastError.set(SegueError(.busy, "theirs"))
      #expect(segue_last_error(nil, 0) == SEGUE_ERROR_BUSY)
      other.signal()
    }.start()
    other.wait()
    #expect(segue_last_error(nil, 0) == SEGUE_ERROR_NOT_FOUND)
  }
}

/// In Swift a handle is an OpaquePointer, which is no `const void *`.
@discardableResult
func segue_release(_ handle: OpaquePointer?) -> segue_status { segue_release(handle.map { UnsafeRawPointer($0) }) }
@discardableResult
func segue_retain(_ handle: OpaquePointer?) -> segue_status { segue_retain(handle.map { UnsafeRawPointer($0) }) }
