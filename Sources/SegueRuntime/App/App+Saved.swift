import SegueDriver
import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// Saved activities and search (handoff.md section 8). All but `deleteSaved` wait on the calling thread.
extension App {
  /// Deletes saved activities of this app (R8.2).
  /// - Parameter names: a set of persistent identifiers; nil: all.
  public func deleteSaved(_ names: Value?, _ callback: DeletionCallback) throws(SegueError) {
    try perform { engine, now in
      let number = engine.deleteSaved(names, now)
      observer?.began(.request(number), deadline: now.uptime + engine.limits.continuation)
      pending.add(number, .deletion(callback))
    }
  }

  func deleted(_ bytes: [UInt8], _ error: SegueError?, _ callback: DeletionCallback) -> CallbackInvocation {
    {
      do throws(SegueError) {
        if let error { throw error }
        guard let count = try Value(cbor: bytes)["count"]?.int64, let count = Int(exactly: count) else {
          throw SegueError(.malformed, "the agent's answer is no count")
        }
        callback.deleted(self, count, nil)
      } catch {
        callback.deleted(self, 0, Box(error))
      }
      return true
    }
  }

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
