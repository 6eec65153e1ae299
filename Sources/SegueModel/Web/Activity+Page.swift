// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// An activity as a web page: so apps that are associated with the site, and browsers, get it (R6.3, R6.4, R12.2).
extension Activity {
  /// `SEGUE_ACTIVITY_TYPE_BROWSING_WEB`
  public static var browsingWeb: String { "NSUserActivityTypeBrowsingWeb" }
  /// The key of the state that one browser hands to another, in `userInfo`.
  static var browserStateKey: String { "SegueBrowserState" }

  public static func isBrowsingWeb(_ type: String) -> Bool { Text.isSame(type, browsingWeb) }

  /// The page of the activity: type `NSUserActivityTypeBrowsingWeb`, the URL, and an empty `userInfo`.
  /// - Parameter keepsState: whether `userInfo` has the state of the browser, if there is one.
  /// Throws HANDOFF_FAILED: it has no page.
  public func page(keepsState: Bool) throws(SegueError) -> Activity {
    guard let webpageURL, webOrigin != nil else {
      throw SegueError(.handoffFailed, "the activity has no web page any longer")
    }
    var page = try Activity(type: Activity.browsingWeb)
    try page.setTitle(title)
    try page.setWebpageURL(webpageURL)
    try page.setExpirationDate(expirationDate)
    page.setPrivate(isPrivate)
    var entries: [(key: Value, value: Value)] = []
    if keepsState, let state = userInfo?[Activity.browserStateKey] {
      entries.append((key: .string(Activity.browserStateKey), value: state))
    }
    try page.setUserInfo(try .dictionary(entries), limit: Limits.value)
    page.markNeedsSave(false)
    return page
  }

  /// The URL with which a browser is started. It goes to the place that the state of another browser names (R12.6).
  public var urlAtPlace: String? {
    guard let webpageURL, let state = userInfo?[Activity.browserStateKey] else { return webpageURL }
    return TextDirective.url(webpageURL, for: state)
  }
}
