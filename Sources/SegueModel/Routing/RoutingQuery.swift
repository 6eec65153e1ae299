// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The activity for which an app is wanted on this device, as far as it counts.
public struct RoutingQuery: Sendable {
  public let type: String
  /// The Team ID of its origin.
  public let team: String
  /// The bundle identifier of its origin.
  public let bundleIdentifier: String
  public let payloadVersion: UInt32
  /// Its origin, which does not continue its own activity; nil: not an app that is open on this device.
  public let origin: Identifier?
  /// The origin of its web page (R12.1); nil: it has none.
  public let webOrigin: WebOrigin?
  /// Whether apps of other teams may continue it (R13.1).
  public let isPublic: Bool
  /// The MIME type of what a public activity shows; nil: it says none.
  public let contentType: String?

  public init(
    type: String, team: String, bundleIdentifier: String, payloadVersion: UInt32 = 0, origin: Identifier? = nil,
    webOrigin: WebOrigin? = nil, isPublic: Bool = false, contentType: String? = nil
  ) {
    self.type = type
    self.team = team
    self.bundleIdentifier = bundleIdentifier
    self.payloadVersion = payloadVersion
    self.origin = origin
    self.webOrigin = webOrigin
    // A page's own activity is for the app of its site (R12.7), whatever type it names.
    self.isPublic = isPublic && (Activity.isBrowsingWeb(type) || !Browser.isHost(bundleIdentifier, ofTeam: team))
    self.contentType = contentType
  }

  /// Whether the activity is a web page, and nothing else.
  var isBrowsing: Bool { Activity.isBrowsingWeb(type) }

  /// Whether it is a page's own activity (R12.7): of a browser, with a type of the page's site.
  var isOfPage: Bool {
    !isBrowsing && (webOrigin?.isSecure ?? false) && Browser.isHost(bundleIdentifier, ofTeam: team)
  }
}
