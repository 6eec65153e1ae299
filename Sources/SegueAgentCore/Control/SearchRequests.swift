// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// Answers the requests of control clients about saved activities (R8). No I/O. For one thread.
final class SearchRequests {
  /// The most results of one answer.
  private static let pageCount = 100

  private let index: any SearchIndex
  private let inbox: InboxService

  init(_ index: any SearchIndex, _ inbox: InboxService) { (self.index, self.inbox) = (index, inbox) }

  // MARK: Searching

  func search(_ request: Value, _ answer: @escaping ControlRequests.Answer) throws(SegueError) {
    guard let query = request["query"]?.string else { throw SegueError(.invalidArgument, "query: must be a string") }
    let app = try Self.app(request)
    var (limit, after) = (Self.pageCount, Int64.max)
    if let value = request["limit"] {
      guard let most = value.int64, most > 0 else {
        throw SegueError(.invalidArgument, "limit: must be a number of results")
      }
      limit = Int(clamping: min(most, Int64(Self.pageCount)))
    }
    if let value = request["after"] {
      guard let number = value.int64 else {
        throw SegueError(.invalidArgument, "after: must be the number of a result")
      }
      after = number
    }
    // One more than wanted tells whether there are more.
    index.search(SearchQuery(query, app: app, limit: limit + 1, after: after)) { [self, limit] result in
      answer(
        ControlClient.map(result) { found throws(SegueError) in
          try ControlRequests.page("results", of: found, atMost: limit) { result throws(SegueError) in
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
  func open(_ request: Value, of client: ControlClient, _ answer: @escaping ControlRequests.Answer) throws(SegueError) {
    guard let app = try Self.app(request) else {
      throw SegueError(.invalidArgument, "bundle_identifier: must be a string")
    }
    guard let activity = request["activity_id"]?.uuid else {
      throw SegueError(.invalidArgument, "activity_id: must be a UUID")
    }
    let name =
      request["persistent_identifier"] == nil
      ? nil : try ControlRequests.text(request, "persistent_identifier", atMost: Limits.identifier)
    let timeout = try ControlRequests.timeout(request)
    let environment = try ControlRequests.environment(request)
    index.find(activity, named: name, of: app) { [inbox] result in
      switch result {
      case .failure(let error): answer(.failure(error))
      case .success(nil): answer(.failure(SegueError(.notFound, "open: the activity is no longer saved")))
      case .success(let (found, document)?):
        inbox.open(
          found.activity, document, of: found.app, named: found.appName, team: found.team, timeout: timeout,
          environment: environment, for: client
        ) { result in
          answer(ControlClient.map(result) { report throws(SegueError) in try ControlRequests.value(of: report) })
        }
      }
    }
  }

  // MARK: Forgetting

  /// Deletes the saved activities of an app, or of all (R8.2).
  func forget(_ request: Value, _ answer: @escaping ControlRequests.Answer) throws(SegueError) {
    try RequestOptions.requireOne(request, "bundle_identifier")
    index.removeAll(of: try Self.app(request)) { result in
      answer(
        ControlClient.map(result) { count throws(SegueError) in
          try .dictionary([(key: .string("count"), value: .integer(Int64(count)))])
        })
    }
  }

  private static func app(_ request: Value) throws(SegueError) -> String? {
    request["bundle_identifier"] == nil
      ? nil : try ControlRequests.text(request, "bundle_identifier", atMost: Limits.identifier)
  }
}
