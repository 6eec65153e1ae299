// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet

/// Broken promises are found. These tests break them: the library gives no occasion.
@Suite struct ObligationTrackerTests {
  private let one = Identifier(high: 1, low: 1)
  private let other = Identifier(high: 1, low: 2)

  @Test func `will_continue and then one end is right (R3.2)`() {
    var obligations = ObligationTracker()
    obligations.begin(one, deadline: 100)
    #expect(obligations.announce(one) == nil)
    #expect(!obligations.isEmpty)
    #expect(obligations.end(one) == nil)
    #expect(obligations.isEmpty)
  }

  @Test func `twice, out of nothing, or an end before will_continue is wrong (R3.2)`() {
    var obligations = ObligationTracker()
    #expect(obligations.announce(one) != nil)
    #expect(obligations.end(one) != nil)
    obligations.begin(one, deadline: 100)
    #expect(obligations.announce(one) == nil)
    #expect(obligations.announce(one) != nil)
    #expect(obligations.end(one) == nil)
    #expect(obligations.end(one) != nil)
    obligations.begin(one, deadline: 100)
    #expect(obligations.end(one) != nil)
  }

  @Test func `continue is answered in time, or opening_failed is told, and no cancel ends an answer (R3.3, R3.9)`() {
    var obligations = ObligationTracker()
    func begin(isDelivery: Bool = false) -> Int64? {
      obligations.begin(one, at: 40, deadline: 100)
      #expect(obligations.announce(one) == nil)
      let (givenUp, violation) = obligations.continue(one, isDelivery: isDelivery)
      #expect(violation == nil && !obligations.isEmpty)
      return givenUp
    }
    #expect(begin() == 2_160)
    #expect(obligations.due(.answer(one)) == 100 + ObligationTracker.slack)
    obligations.answered(one)
    #expect(obligations.due(.answer(one)) == nil && obligations.isEmpty)
    #expect(obligations.failOpening(one, .userCancelled) != nil)
    #expect(begin() != nil)
    #expect(obligations.failOpening(one, .userCancelled) == nil && obligations.isEmpty)
    #expect(obligations.failOpening(one, .userCancelled) != nil)
    #expect(begin(isDelivery: true) != nil)
    #expect(obligations.due(.answer(one)) == nil)
    obligations.answered(one)
    // It comes once more, under the same name.
    #expect(begin(isDelivery: true) != nil && !obligations.isEmpty)
    obligations.answered(one)
    #expect(obligations.isEmpty)
    // Objects that were restored for too long.
    #expect(obligations.failOpening(one, .remoteApplicationTimedOut) == nil)
  }

  @Test func `what another app has got ends in a receipt by its time (R3.6)`() {
    var obligations = ObligationTracker()
    obligations.attempt(one, deadline: 100)
    #expect(obligations.due(.receipt(one)) == 100 + ObligationTracker.slack && !obligations.isEmpty)
    #expect(obligations.receive(receiptOf: one, .failed) == nil)
    #expect(obligations.due(.receipt(one)) == nil && obligations.isEmpty)
    // Its origin may have given it up before.
    obligations.attempt(one, deadline: 200)
    #expect(obligations.isEmpty)
  }

  @Test func `of a stream one thing is answered once, and is due until then (R7.3)`() {
    var obligations = ObligationTracker()
    #expect(obligations.answer(.stream(one)) != nil)
    obligations.ask(.stream(one), deadline: 100)
    #expect(
      !obligations.isEmpty && obligations.due(.stream(one)) == 100 + ObligationTracker.slack
        && obligations.due(.stream(other)) == nil)
    #expect(obligations.answer(.stream(one)) == nil)
    #expect(obligations.isEmpty && obligations.answer(.stream(one)) != nil)
  }

  @Test func `two receipts of one continuation are wrong (R3.6)`() {
    var obligations = ObligationTracker()
    #expect(obligations.receive(receiptOf: one, .failed) == nil)
    #expect(obligations.receive(receiptOf: one, .failed) != nil)
  }

  @Test func `was_continued goes with the receipt of what was restored, and with no other (R3.6)`() {
    var obligations = ObligationTracker()
    #expect(obligations.receive(wasContinued: one) == nil)
    #expect(obligations.receive(receiptOf: one, .restored) == nil)
    #expect(obligations.receive(receiptOf: other, .restored) != nil)
    #expect(obligations.receive(wasContinued: other) == nil)
    #expect(obligations.receive(receiptOf: other, .declined) != nil)
    #expect(obligations.receive(wasContinued: other) != nil)
  }

  @Test func `an offer appears, changes and is gone in this order (R2.7)`() {
    var obligations = ObligationTracker()
    #expect(obligations.see(.changed, one) != nil)
    #expect(obligations.see(.gone, one) != nil)
    #expect(obligations.see(.appeared, one) == nil)
    #expect(obligations.see(.appeared, one) != nil)
    #expect(obligations.see(.changed, one) == nil)
    #expect(obligations.see(.gone, one) == nil)
    #expect(obligations.see(.appeared, one) == nil)
  }

  @Test func `what is over is not overdue, and who was stopped has time from then on (R3.9)`() {
    var obligations = ObligationTracker()
    #expect(obligations.due(.continuation(one)) == nil)
    obligations.begin(one, deadline: 100)
    #expect(obligations.due(.continuation(one)) == 100 + ObligationTracker.slack)
    obligations.resumedAt = 500
    #expect(obligations.due(.continuation(one)) == 500 + ObligationTracker.slack)
    obligations.ask(.question(7), deadline: 900)
    #expect(obligations.due(.question(7)) == 900 + ObligationTracker.slack)
    #expect(obligations.answer(.question(7)) == nil)
    #expect(obligations.answer(.question(7)) != nil)
    #expect(obligations.due(.question(7)) == nil)
  }

  @Test func `events come in the order of their times, and of one time in that of their coming (R11.1)`() {
    var queue = EventQueue<Int>()
    var random = SeededRandom(seed: 1)
    let times = (0..<500).map { _ in random.within(0, 40) }
    for (index, time) in times.enumerated() { queue.push(index, at: time) }
    var popped: [Int] = []
    while let next = queue.pop() { popped.append(next.event) }
    #expect(popped == times.indices.sorted { (times[$0], $0) < (times[$1], $1) })
  }

  @Test func `a trace line says when, who and what, and stays one line`() {
    var trace = Trace()
    trace.add(12_345, "phone/notes", "will_continue", "com.example\nnote")
    #expect(trace.lines == "   12.345 phone/notes     will_continue com.example?note\n")
  }
}
