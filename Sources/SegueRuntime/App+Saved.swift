import SegueApp
import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// Saved activities and search (handoff.md section 8). Each call waits on the calling thread.
extension App {
  /// The saved activities that have all words of a query, the newest first: an array of dictionaries, as
  /// `segue_app_search` describes it.
  /// - Parameter bundle: the bundle identifier of an app, if only that one's are wanted.
  public func search(_ query: String, in bundle: String?, limit: Int) throws(SegueError) -> Value {
    try list("search", AnswerPages("results", .falling, atMost: limit, isCut: true)) { missing in
      var entries: [(key: Value, value: Value)] = [
        (key: .string("query"), value: .string(query)),
        (key: .string("limit"), value: .integer(Int64(missing))),
      ]
      if let bundle { entries.append((key: .string("bundle_identifier"), value: .string(bundle))) }
      return entries
    }
  }

  /// Continues a saved activity in its app on this device, which need not run (R8.3).
  /// - Parameters:
  ///   - result: of `search`.
  ///   - timeout: milliseconds; nil for the limit.
  /// - Returns: as `launch`.
  public func openSaved(_ result: Value, timeout: Int64?) throws(SegueError) -> Value {
    let timeout = timeout ?? AgentClient.usualTimeout
    let entries: [(key: Value, value: Value)] = [
      (key: .string("timeout"), value: .integer(timeout)),
      (key: .string("environment"), value: try AgentClient.environment()),
    ]
    return try askAgent("open", entries + (result.entries ?? []), timeout: timeout + AgentClient.answerTime)
  }

  /// Deletes the saved activities of an app; nil: of all (R8.2).
  /// - Returns: how many there were.
  public func forgetSaved(of bundle: String?) throws(SegueError) -> Int {
    let answer = try askAgent(
      "forget", bundle.map { [(key: .string("bundle_identifier"), value: .string($0))] } ?? [])
    guard let count = answer["count"]?.int64, let count = Int(exactly: count), count >= 0 else {
      throw SegueError(.malformed, "the agent's answer is no count")
    }
    return count
  }
}
