// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// Failures of which no host was told (R3.13).
@Suite struct FailureListTests {
  /// - Parameter process: that has reported it.
  private func failure(_ app: String, _ type: String, _ date: Double, process: Int = 1) -> UnheardFailure {
    UnheardFailure(
      bundleIdentifier: app, appName: app, type: type, error: SegueError(.handoffFailed, "why"), date: date,
      principal: Identifier(high: 0, low: UInt64(process)))
  }

  @Test(arguments: ["bad", "good"])
  func `a process that reports without end pushes out none but its own, whatever app it says it is`(app: String) {
    let list = FailureList()
    list.add(failure("good", "com.example.editing", 0, process: 1))
    for number in 0..<100 { list.add(failure(app, "com.example.\(number)", Double(number), process: 2)) }
    #expect(
      list.failures.count == UnheardFailure.limit && list.failures.first?.principal == Identifier(high: 0, low: 1))
    #expect(list.failures.last?.type == "com.example.99")
  }

  @Test func `what is reported again, by whatever process, takes the later date, and a failure has a type`() {
    let list = FailureList()
    for date in [1.0, 2, 3] { list.add(failure("good", "com.example.editing", date, process: Int(date))) }
    list.add(failure("good", "", 4))
    #expect(list.failures.map { $0.date } == [3])
  }

  @Test(arguments: [[1, 2], [2, 1], [2, 1, 2]])
  func `a process takes no failure of another one away by telling the same, before or after it`(order: [Int]) {
    let list = FailureList()
    for process in order { list.add(failure("good", "com.example.editing", 10, process: process)) }
    for number in 0..<100 { list.add(failure("bad", "com.example.\(number)", 20 + Double(number), process: 2)) }
    #expect(list.failures.count == UnheardFailure.limit && list.failures.first?.type == "com.example.editing")
    #expect(list.failures.first?.principal == Identifier(high: 0, low: 1))
  }

  @Test func `what has waited for an agent comes later, and stands where its date belongs`() {
    let list = FailureList()
    list.add(failure("good", "com.example.late", 20))
    list.add(failure("good", "com.example.early", 10))
    #expect(list.failures.map { $0.date } == [10, 20])
    // It was told before, with a later date.
    list.add(failure("good", "com.example.late", 5))
    #expect(list.failures.map { $0.date } == [10, 20])
    for number in 0..<20 { list.add(failure("good", "com.example.\(number)", 15 + Double(number) / 100)) }
    #expect(list.failures.count == UnheardFailure.limit && list.failures.last?.date == 20)
    list.add(failure("good", "com.example.oldest", 1))
    #expect(!list.failures.contains { $0.date == 1 }, "the oldest of its app goes")
  }

  @Test func `the last 16 are kept, the oldest first`() {
    let list = FailureList()
    for number in 0..<20 {
      list.add(failure("viewer", "com.example.\(number)", Double(number)))
    }
    #expect(list.failures.map { $0.type } == (4..<20).map { "com.example.\($0)" })
  }
}
