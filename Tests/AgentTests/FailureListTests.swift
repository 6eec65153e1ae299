import SegueModel
import Testing

@testable import SegueAgent

/// Failures of which no host was told (R3.13).
@Suite struct FailureListTests {
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
