// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The saved activities of all apps of the user (R8), on the disk: a thread of its own in the product, a model in the
/// fleet. Those that have expired are never found. Each `done` is called once, in a later turn. Throws nothing: errors
/// come by `done`, SYSTEM and BUSY among them.
public protocol SearchIndex: AnyObject {
  /// Does what an app asks for at the hub (R8.1, R8.2).
  /// - Parameters:
  ///   - principal: that of the app's process.
  ///   - done: gets how many saved activities were concerned.
  func change(
    _ change: SavedChange, of app: AppIdentity, principal: Identifier,
    _ done: @escaping (Result<Int, SegueError>) -> Void)
  /// Finds saved activities, the newest first.
  /// - Parameter done: gets at most `limit` of them. LIMIT_EXCEEDED: the query is too long.
  func search(_ query: SearchQuery, _ done: @escaping (Result<[SearchResult], SegueError>) -> Void)
  /// Finds one saved activity of an app, by its persistent identifier if it has one, else by its own.
  /// - Parameter done: gets it with its document; nil: it is not saved.
  func find(
    _ activity: Identifier, named name: String?, of app: String,
    _ done: @escaping (Result<(found: SearchResult, document: [UInt8])?, SegueError>) -> Void)
  /// Deletes the saved activities of an app; nil: of all apps (R8.2).
  /// - Parameter done: gets how many there were.
  func removeAll(of app: String?, _ done: @escaping (Result<Int, SegueError>) -> Void)
}

/// A search, and the place in its results at which it goes on.
public struct SearchQuery: Sendable {
  /// Words that must all occur; without words, all activities are found.
  public let text: String
  /// The bundle identifier of the app whose activities are wanted; nil: of all.
  public let app: String?
  public let limit: Int
  /// The number of the last result that is known: those after it are wanted.
  public let after: Int64

  public init(_ text: String, app: String?, limit: Int, after: Int64) {
    (self.text, self.app, self.limit, self.after) = (text, app, limit, after)
  }
}
