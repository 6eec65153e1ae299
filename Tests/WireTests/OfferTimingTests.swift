// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

/// Time without a common clock (R1.6).
@Suite struct OfferTimingTests {
  private let now = Instant(uptime: 10_000, date: 1_000)

  private func remaining(_ date: Double?) -> Int64? {
    OfferTiming(activatedAt: 0, expirationDate: date, now: now).remaining
  }

  @Test func `what remains is counted by the teller's clock, and the date by the reader's (R1.6)`() throws {
    let timing = OfferTiming(activatedAt: 4_000, expirationDate: 1_060.5, now: now)
    #expect(timing.age == 6_000 && timing.remaining == 60_500)
    #expect(timing.expirationDate(now: Instant(uptime: 5, date: 77)) == 137.5)
    #expect(remaining(nil) == nil)
    #expect(OfferTiming(age: 1, remaining: nil).expirationDate(now: now) == nil)
  }

  @Test func `no clock makes an age or a span that is none (A9)`() {
    #expect(OfferTiming(activatedAt: 20_000, expirationDate: nil, now: now).age == 0)
    for date in [999, 1_000, 1_000.0004, -1e300] { #expect(remaining(date) == 0) }
    let century: Int64 = 100 * 366 * 86_400_000
    #expect(remaining(1e300) == century)
  }
}
