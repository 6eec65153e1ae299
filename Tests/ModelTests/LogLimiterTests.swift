// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// the limit of a log that others fill (A8).
@Suite struct LogLimiterTests {
  private func now(_ uptime: Int64) -> Instant { Instant(uptime: uptime, date: 0) }

  @Test func `A8: 64 lines may be written at once, then one a second, with the count of those that were left out`() {
    var limiter = LogLimiter()
    for _ in 0..<64 { #expect(limiter.take(now(5_000)) == 0) }
    for _ in 0..<9 { #expect(limiter.take(now(5_000)) == nil) }
    #expect(limiter.take(now(5_999)) == nil)
    #expect(limiter.take(now(6_000)) == 10)
    #expect(limiter.take(now(6_000)) == nil)
    #expect(limiter.take(now(7_000)) == 1)
    #expect(limiter.take(now(8_000)) == 0)
  }

  @Test func `A8: a log that was quiet takes 64 lines at once again, and no more`() {
    var limiter = LogLimiter()
    for _ in 0..<64 { #expect(limiter.take(now(0)) == 0) }
    #expect((0..<100).filter { _ in limiter.take(now(1_000_000)) != nil }.count == 64)
  }
}
