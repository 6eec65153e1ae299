// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueTransport
import Testing

@testable import SegueAgentCore

/// Notices about other devices: which ones users see, and for how long.
@Suite struct AccountNoticeTests {
  private let one = Identifier(high: 1, low: 1)
  private let other = Identifier(high: 2, low: 2)

  private func error(_ text: String) -> SegueError { SegueError(.notAllowed, DiagnosticText(of: text)) }

  @Test func `a device that says two things by turns without end takes no other notice's place (A8)`() {
    var notices = AccountNotices(in: TestEnvironment())
    notices.add(error("a device was revoked"))
    for number in 0..<100 { _ = notices.add(error(number % 2 == 0 ? "removed" : "copied"), of: one, at: 0) }
    #expect(notices.all.map { $0.error.message } == ["a device was revoked", "removed", "copied"])
  }

  @Test func `a device causes as many notices as it is answered, and others as many besides (A8)`() {
    var notices = AccountNotices(in: TestEnvironment())
    func add(_ text: String, of peer: Identifier?, at uptime: Int64 = 0) -> Bool {
      notices.add(error(text), of: peer, at: uptime)
    }
    var told = 0
    for number in 0..<100 where add("at address \(number)", of: one) { told += 1 }
    #expect(told == Limits.answers)
    #expect(add("another one", of: other) && add("one without a name", of: nil))
    #expect(notices.all.last?.error.message == "one without a name")
    #expect(!add("too early", of: one, at: 999) && add("a second later", of: one, at: 1_999))
  }

  @Test func `a device that says another time again and again has one notice of its clock (A8)`() {
    var notices = AccountNotices(in: TestEnvironment())
    notices.add(error("is not in the list of devices"), of: .unlisted)
    for days in 2..<60 { notices.add(error("xray: the clocks differ by \(days) days"), of: .clock(of: one)) }
    notices.add(error("phone: the clocks differ by 3 days"), of: .clock(of: other))
    #expect(
      notices.all.map { $0.error.message } == [
        "is not in the list of devices", "xray: the clocks differ by 59 days", "phone: the clocks differ by 3 days",
      ])
  }

  @Test func `a device that causes new notices without end pushes out none but its own (A8)`() {
    var notices = AccountNotices(in: TestEnvironment())
    notices.add(error("is not in the list of devices"), of: .unlisted)
    notices.add(error("phone: links from two machines"), of: .device(other))
    notices.add(error("invite: void"))
    notices.add(error("xray: the clocks differ"), of: .clock(of: one))
    for number in 0..<100 { notices.add(error("xray: at address \(number)"), of: .device(one)) }
    #expect(notices.all.count == Limits.notices)
    let kept = notices.all.map { $0.error.message }
    #expect(kept.prefix(3) == ["is not in the list of devices", "phone: links from two machines", "invite: void"])
    #expect(kept[3] == "xray: at address 87" && kept.last == "xray: at address 99", "its clock counts as its own")
    for number in 0..<100 { notices.add(error("number \(number)"), of: .unlisted) }
    #expect(notices.all.count { $0.source == .device(one) } == 7, "both have as many, and the others theirs")
    #expect(notices.all.contains { $0.source == .device(other) } && notices.all.contains { $0.source == .here })
  }

  @Test func `each device is told of a copy, also one that links later, once an hour`() {
    var copy = DeviceCopy()
    func untold(_ linked: [Identifier], at uptime: Int64) -> [Identifier] { copy.takeUntold(of: linked, at: uptime) }
    #expect(untold([one], at: 0).isEmpty, "there is nothing to tell")
    // No device is linked when the other machine is met.
    copy.met(error("copied"), at: 0)
    #expect(untold([], at: 0).isEmpty && copy.problem != nil)
    #expect(untold([one], at: 1_000) == [one])
    copy.met(error("copied"), at: 2_000)
    #expect(untold([one, other], at: 2_000) == [other])
    #expect(untold([one, other], at: 3_000).isEmpty)
    copy.met(error("copied"), at: DeviceCopy.pause + 1_000)
    #expect(untold([one, other], at: DeviceCopy.pause + 1_000) == [one])
  }

  @Test func `a copy that is met no longer is said no longer`() {
    var copy = DeviceCopy()
    func expires(at uptime: Int64) -> Bool { copy.expire(at: uptime) }
    copy.met(error("copied"), at: 0)
    copy.met(error("copied"), at: 5_000)
    #expect(copy.deadline == DeviceCopy.presentTime + 5_000)
    #expect(!expires(at: DeviceCopy.presentTime) && copy.problem != nil)
    #expect(expires(at: DeviceCopy.presentTime + 5_000) && copy.problem == nil && copy.deadline == nil)
    let untold = copy.takeUntold(of: [one], at: DeviceCopy.presentTime + 6_000)
    #expect(untold.isEmpty)
  }

  @Test func `the time in a beacon is a problem for a minute after the last one, which ends at a known moment`() throws
  {
    var clock = OtherClock()
    func expires(at uptime: Int64) -> Bool { clock.expire(at: uptime) }
    #expect(clock.deadline == nil && clock.problem == nil)
    let date = 1_795_392_000.0
    let first = clock.heard(date - 7_200, at: Instant(uptime: 1_000, date: date))
    let second = clock.heard(date - 7_200, at: Instant(uptime: 31_000, date: date + 30))
    #expect(first != nil && second == nil, "once a day")
    let deadline = try #require(clock.deadline)
    #expect(deadline == 91_000 && !expires(at: deadline - 1) && clock.problem != nil)
    #expect(expires(at: deadline) && clock.problem == nil && clock.deadline == nil)
    #expect(!expires(at: deadline + 1))
  }
}
