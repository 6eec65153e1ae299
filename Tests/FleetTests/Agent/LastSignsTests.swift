// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// When devices of the account were last seen.
@Suite struct LastSignsTests {
  private let phone = Identifier(high: 1, low: 1)

  @Test func `a device was last seen when it was last heard, not when its link has ended`() {
    var signs = LastSigns()
    #expect(signs[phone] == nil)
    signs.note(phone, heardAt: 1_000, Instant(uptime: 1_000, date: 5_000))
    #expect(signs[phone] == 5_000)
    // It has been silent for 32 s.
    signs.note(phone, heardAt: 60_000, Instant(uptime: 92_000, date: 5_091))
    #expect(signs[phone] == 5_059)
  }

  @Test func `no more devices are kept than an account has`() {
    var signs = LastSigns()
    let devices = (0...Limits.devices).map { Identifier(high: 2, low: UInt64($0)) }
    for device in devices { signs.note(device, heardAt: 0, Instant(uptime: 0, date: 7)) }
    #expect(signs[devices[0]] == nil && signs[devices[1]] == 7 && signs[devices[Limits.devices]] == 7)
  }
}
