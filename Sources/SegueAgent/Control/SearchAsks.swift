import SegueDevices
import SegueEngine
import SegueInbox
import SegueModel
import SegueStore

/// Answers requests at the second socket about saved activities (handoff.md section 8). For the loop.
final class SearchAsks {
  /// The most results of one answer.
  private static let pageCount = 100

  private let saved: SavedService
  private let inbox: InboxService

  init(_ saved: SavedService, _ inbox: InboxService) {
    self.saved = saved
    self.inbox = inbox
  }

  // MARK: Searching

  func search(_ ask: Value, _ answer: @escaping ControlAsks.Answer) throws(SegueError) {
    guard let query = ask["query"]?.string else { throw SegueError(.invalidArgument, "query: must be a string") }
    let app = try Self.app(ask)
    var (limit, after) = (Self.pageCount, Int64.max)
    if let value = ask["limit"] {
      guard let most = value.int64, most > 0 else {
        throw SegueError(.invalidArgument, "limit: must be a number of results")
      }
      limit = Int(clamping: min(most, Int64(Self.pageCount)))
    }
    if let value = ask["after"] {
      guard let number = value.int64 else {
        throw SegueError(.invalidArgument, "after: must be the number of a result")
      }
      after = number
    }
    // One more than wanted tells whether there are more.
    saved.use({ [limit, after] saved, now throws(SegueError) in
      try saved.search(query, at: now, limit: limit + 1, app: app, after: after)
    }) { [self, limit] result in
      answer(
        Asker.map(result) { found throws(SegueError) in
          try ControlAsks.page("results", of: found, atMost: limit) { result throws(SegueError) in
            try value(of: result)
          }
        })
    }
  }

  private func value(of result: SearchResult) throws(SegueError) -> Value {
    var entries: [(key: Value, value: Value)] = [
      (key: .string("number"), value: .integer(result.number)),
      (key: .string("bundle_identifier"), value: .string(result.app)),
      (key: .string("app_name"), value: .string(inbox.name(of: result.app, named: result.appName))),
      (key: .string("activity_id"), value: .uuid(result.activity)),
      (key: .string("type"), value: .string(result.type)),
      (key: .string("saved"), value: try .date(result.savedAt)),
      (key: .string("expires"), value: try .date(result.expiresAt)),
    ]
    for (key, text) in [
      ("title", result.title), ("persistent_identifier", result.persistentIdentifier),
      ("webpage_url", result.webpageURL),
    ] {
      if let text { entries.append((key: .string(key), value: .string(text))) }
    }
    return try .dictionary(entries)
  }

  // MARK: Opening

  /// A saved activity that somebody names: by its persistent identifier if it has one, else by its own.
  func open(_ ask: Value, of asker: Asker, _ answer: @escaping ControlAsks.Answer) throws(SegueError) {
    guard let app = try Self.app(ask) else {
      throw SegueError(.invalidArgument, "bundle_identifier: must be a string")
    }
    guard let activity = ask["activity_id"]?.uuid else {
      throw SegueError(.invalidArgument, "activity_id: must be a UUID")
    }
    let name = ask["persistent_identifier"]?.string
    let timeout = try ControlAsks.timeout(ask)
    let environment = try ControlAsks.environment(ask)
    saved.use({ saved, now throws(SegueError) in
      guard let found = try saved.find(activity, named: name, of: app, at: now) else {
        throw SegueError(.notFound, "open: the activity is no longer saved")
      }
      return (found, try saved.document(of: found))
    }) { [inbox] result in
      switch result {
      case .failure(let error): answer(.failure(error))
      case .success(let (found, document)):
        inbox.open(
          found.activity, document, of: found.app, named: found.appName, team: found.team, timeout: timeout,
          environment: environment, for: asker
        ) { result in
          answer(Asker.map(result) { report throws(SegueError) in try ControlAsks.value(of: report) })
        }
      }
    }
  }

  // MARK: Forgetting

  /// Deletes the saved activities of an app, or of all (R8.2).
  func forget(_ ask: Value, _ answer: @escaping ControlAsks.Answer) throws(SegueError) {
    let app = try Self.app(ask)
    saved.use({ saved, _ throws(SegueError) in
      if let app { try saved.deleteAll(of: app) } else { try saved.deleteAll() }
    }) { result in
      answer(
        Asker.map(result) { count throws(SegueError) in
          try .dictionary([(key: .string("count"), value: .integer(Int64(count)))])
        })
    }
  }

  private static func app(_ ask: Value) throws(SegueError) -> String? {
    ask["bundle_identifier"] == nil
      ? nil : try ControlAsks.text(ask, "bundle_identifier", atMost: Limits.identifier)
  }
}
