// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel

/// The requests of apps and control clients to the saved activities.
extension SavedActivities {
  /// Does what an app asks for at the hub (R8.1, R8.2).
  /// - Parameters:
  ///   - account: that of the app's process.
  ///   - now: seconds since 1970.
  /// - Returns: how many saved activities were concerned.
  public func apply(
    _ change: SavedChange, of app: AppIdentity, principal: Identifier, at now: Double
  ) throws(SegueError) -> Int {
    switch change {
    case .save(let record):
      try save(Self.activity(record, of: app, principal: principal), at: now)
      return 1
    case .deleteAll: return try deleteAll(of: app.bundleIdentifier)
    case .delete(let names, let activities): return try delete(names, activities, of: app.bundleIdentifier)
    }
  }

  public func search(_ query: SearchQuery, at now: Double) throws(SegueError) -> [SearchResult] {
    try search(query.text, at: now, limit: query.limit, app: query.app, after: query.after)
  }

  /// Finds one saved activity of an app, with its document; nil: it is not saved.
  public func findWhole(
    _ activity: Identifier, named name: String?, of app: String, at now: Double
  ) throws(SegueError) -> (found: SearchResult, document: [UInt8])? {
    guard let found = try find(activity, named: name, of: app, at: now) else { return nil }
    return (found, try document(of: found))
  }

  /// Deletes the saved activities of an app; nil: of all apps.
  /// - Returns: how many there were.
  public func deleteAll(ofApp app: String?) throws(SegueError) -> Int {
    if let app { try deleteAll(of: app) } else { try deleteAll() }
  }

  private static func activity(
    _ record: SavedRecord, of app: AppIdentity, principal: Identifier
  ) -> SavedActivity {
    let state = record.state
    var keywords: [String] = []
    for keyword in state.keywords.elements ?? [] { if let text = keyword.string { keywords.append(text) } }
    return SavedActivity(
      app: app.bundleIdentifier, appName: app.name, team: app.team, activity: record.activity,
      persistentIdentifier: state.persistentIdentifier, type: state.type, title: state.title, keywords: keywords,
      webpageURL: state.webpageURL, document: record.document, expirationDate: state.expirationDate,
      principal: principal)
  }
}
