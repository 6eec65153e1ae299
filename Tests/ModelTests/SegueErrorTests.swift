// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@Suite struct SegueErrorTests {
  @Test func `each status has Foundation's number where there is one (R3.11)`() {
    let numbers = Status.allCases.map { ($0, $0.foundationCode) }.filter { $0.1 != 0 }
    #expect(
      numbers.map { "\($0.0) \($0.1)" } == [
        "handoffFailed 4608", "connectionUnavailable 4609", "remoteApplicationTimedOut 4610", "userInfoTooLarge 4611",
        "userCancelled 3072",
      ])
  }

  @Test func `an error is its status and its words, as bytes (R1.2)`() {
    let error = SegueError(.busy, "\u{e9}")
    #expect(error == SegueError(.busy, "\u{e9}"))
    #expect(error != SegueError(.system, "\u{e9}"))
    #expect(error != SegueError(.busy, "e\u{301}"))
  }
}
