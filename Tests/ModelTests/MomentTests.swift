// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// Dates as deadlines: what a device's clock says is from outside, and may be anything (A9).
@Suite struct MomentTests {
  private let now = Instant(uptime: 1_000, date: 100)

  @Test func `a date to come is that many milliseconds away, rounded up`() {
    #expect(now.uptime(of: 101) == 2_000)
    #expect(now.uptime(of: 100.0105) == 1_011)
    #expect(now.uptime(of: 100 + 86_399) == 86_400_000)
  }

  @Test func `a date that is past is due in a millisecond`() {
    for date in [100, 100.0001, 99, -1e300, -.infinity, .nan] { #expect(now.uptime(of: date) == 1_001) }
  }

  @Test func `a date that is far away is looked at again in a day, however far`() {
    for date in [100 + 86_400, 100 + 86_401, 1e300, .infinity] { #expect(now.uptime(of: date) == 86_401_000) }
  }
}
