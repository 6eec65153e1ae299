import SegueModel
import Testing

@testable import SegueAgent

/// Failures of which no host was told (R3.13).
@Suite struct FailureListTests {
  private func failure(_ app: String, _ type: String, _ date: Double) -> UnheardFailure {
    UnheardFailure(
      bundleIdentifier: app, appName: app, type: type, error: SegueError(.handoffFailed, "why"), date: date)
  }

  @Test func `an app that reports without end pushes out none but its own`() {
    let list = FailureList()
    list.add(failure("good", "com.example.editing", 0))
    for number in 0..<100 { list.add(failure("bad", "com.example.\(number)", Double(number))) }
    #expect(list.failures.count == UnheardFailure.limit && list.failures.first?.bundleIdentifier == "good")
    #expect(list.failures.last?.type == "com.example.99")
  }

  @Test func `what is reported again takes the later date, and a failure has a type`() {
    let list = FailureList()
    for date in [1.0, 2, 3] { list.add(failure("good", "com.example.editing", date)) }
    list.add(failure("good", "", 4))
    #expect(list.failures.map { $0.date } == [3])
  }

  @Test func `the last 16 are kept, the oldest first`() {
    let list = FailureList()
    for number in 0..<20 {
      list.add(
        UnheardFailure(
          bundleIdentifier: "com.example.viewer", appName: "viewer", type: "com.example.\(number)",
          error: SegueError(.handoffFailed, "why"), date: Double(number)))
    }
    #expect(list.failures.map { $0.type } == (4..<20).map { "com.example.\($0)" })
  }
}
