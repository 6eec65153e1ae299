// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// An activity as it is saved for search (R8.1).
public struct SavedActivity: Sendable {
  /// The bundle identifier of its app.
  public let app: String
  /// The name by which the app calls itself.
  public let appName: String
  /// Its Team ID.
  public let team: String
  public let activity: Identifier
  /// Names it for its app; nil if the app gave none. A later one of the same name takes its place.
  public let persistentIdentifier: String?
  public let type: String
  public let title: String?
  public let keywords: [String]
  /// The text that the app marks as searchable besides; at most `Limits.searchableText` bytes, the keywords included.
  public let searchableText: String
  public let webpageURL: String?
  /// The activity document with the required keys, for the continuation on this device (R8.3).
  public let document: [UInt8]
  /// Seconds since 1970; nil: `Limits.savedLife` from the time at which it is saved.
  public let expirationDate: Double?
  /// The process of its app, which has a share of the room; nil: it is not counted.
  public let principal: Identifier?

  public init(
    app: String, appName: String = "", team: String, activity: Identifier, persistentIdentifier: String?, type: String,
    title: String?, keywords: [String] = [], searchableText: String = "", webpageURL: String? = nil,
    document: [UInt8], expirationDate: Double? = nil, principal: Identifier? = nil
  ) {
    self.app = app
    self.appName = appName
    self.team = team
    self.activity = activity
    self.persistentIdentifier = persistentIdentifier
    self.type = type
    self.title = title
    self.keywords = keywords
    self.searchableText = searchableText
    self.webpageURL = webpageURL
    self.document = document
    self.expirationDate = expirationDate
    self.principal = principal
  }
}

/// A saved activity that was found, without its document.
public struct SearchResult: Sendable {
  public let app: String
  /// The name by which the app has called itself; empty if that is not known.
  public let appName: String
  public let team: String
  public let activity: Identifier
  public let persistentIdentifier: String?
  public let type: String
  public let title: String?
  public let webpageURL: String?
  /// Seconds since 1970, as the clock of the device said when it was saved.
  public let savedAt: Double
  /// Seconds since 1970, as its clock says now.
  public let expiresAt: Double
  /// Falls from result to result.
  public let number: Int64

  public init(
    app: String, appName: String, team: String, activity: Identifier, persistentIdentifier: String?, type: String,
    title: String?, webpageURL: String?, savedAt: Double, expiresAt: Double, number: Int64
  ) {
    self.app = app
    self.appName = appName
    self.team = team
    self.activity = activity
    self.persistentIdentifier = persistentIdentifier
    self.type = type
    self.title = title
    self.webpageURL = webpageURL
    self.savedAt = savedAt
    self.expiresAt = expiresAt
    self.number = number
  }
}
