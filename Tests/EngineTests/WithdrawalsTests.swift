import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// What a hub remembers of offers that are gone (R1.11).
@Suite struct WithdrawalsTests {
  private func identifier(_ number: Int) -> Identifier { Identifier(high: 0, low: UInt64(number)) }
  private func withdrawal(_ revision: UInt64) -> Withdrawal { Withdrawal(hub: identifier(9), revision: revision) }

  @Test func `each is remembered for 60 s, and then no more (R1.11)`() {
    var withdrawals = Withdrawals()
    withdrawals.note(identifier(1), withdrawal(1), at: 1_000)
    withdrawals.note(identifier(2), withdrawal(2), at: 60_999)
    #expect(withdrawals[identifier(1)]?.revision == 1)
    withdrawals.note(identifier(3), withdrawal(3), at: 61_000)
    #expect(withdrawals[identifier(1)] == nil && withdrawals[identifier(2)] != nil)
  }

  @Test func `of more than 1,024 the oldest is forgotten (R1.11)`() {
    var withdrawals = Withdrawals()
    for number in 0..<1_025 { withdrawals.note(identifier(number), withdrawal(UInt64(number)), at: 0) }
    #expect(withdrawals[identifier(0)] == nil)
    #expect(withdrawals[identifier(1)] != nil && withdrawals[identifier(1_024)] != nil)
  }

  @Test func `one that was noted again stays when its first note is due (R1.11)`() {
    var withdrawals = Withdrawals()
    withdrawals.note(identifier(1), withdrawal(1), at: 0)
    withdrawals.note(identifier(1), withdrawal(2), at: 30_000)
    withdrawals.note(identifier(1), withdrawal(1), at: 30_001)
    withdrawals.note(identifier(2), withdrawal(3), at: 60_000)
    #expect(withdrawals[identifier(1)]?.revision == 2)
  }
}
