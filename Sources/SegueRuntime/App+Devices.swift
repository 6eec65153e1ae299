import SegueApp
import SegueModel

/// The requests of an app to the agent about its user's account and devices (R10). Each call waits on its thread.
extension App {
  /// - Parameters:
  ///   - what: the name of the question (docs/protocol.md).
  ///   - timeout: milliseconds for what others have to do; nil if it needs only the agent.
  public func askAboutDevices(
    _ what: StaticString, _ entries: [(key: Value, value: Value)], timeout: Int64?
  ) throws(SegueError) -> Value {
    guard let timeout else { return try askAgent(what, entries) }
    return try askAgent(
      what, entries + [(key: .string("timeout"), value: .integer(timeout))], timeout: timeout + AgentClient.answerTime)
  }
}
