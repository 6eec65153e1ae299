// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// An activity as a web page: so apps that are associated with the site, and browsers, get it (R6.3, R6.4, R12.2).
extension Activity {
  /// `SEGUE_ACTIVITY_TYPE_BROWSING_WEB`
  public static var browsingWeb: String { "NSUserActivityTypeBrowsingWeb" }
  /// The key of the state that one browser hands to another, in `userInfo`.
  static var browserStateKey: String { "SegueBrowserState" }
  /// The key of the activity that a page has of its own, in the `userInfo` of what a browser gets (R12.7): a dictionary
  /// of `type` and `userInfo`.
  static var pageActivityKey: String { "SeguePageActivity" }

  public static func isBrowsingWeb(_ type: String) -> Bool { Text.isSame(type, browsingWeb) }

  /// The part of `userInfo` that goes with a page.
  public enum PageContents: Sendable, Equatable {
    case nothing
    /// The browser's state, from one browser to another.
    case browserState
    /// The type and `userInfo` of a page's own activity, without the browser's state: for the app of its site.
    case ownActivity
    /// The browser's state, and the type and `userInfo` of the activity: for a browser, which gives them to the page.
    case enclosedActivity
  }

  /// The page of the activity: the URL, and type `NSUserActivityTypeBrowsingWeb`, unless the type is of the contents.
  /// Throws HANDOFF_FAILED: it has no page.
  public func page(_ contents: PageContents) throws(SegueError) -> Activity {
    guard let webpageURL, webOrigin != nil else {
      throw SegueError(.handoffFailed, "the activity has no web page any longer")
    }
    guard !AbsoluteURL.hasUser(webpageURL) else {
      throw SegueError(.handoffFailed, "the web page has a user or a password before its host: it is opened nowhere")
    }
    var page = try Activity(type: contents == .ownActivity ? type : Activity.browsingWeb)
    try page.setTitle(title)
    try page.setWebpageURL(webpageURL)
    try page.setExpirationDate(expirationDate)
    page.setPrivate(isPrivate)
    page.setPublic(publicity)
    try page.setUserInfo(try pageInfo(contents), limit: Limits.value)
    page.markNeedsSave(false)
    return page
  }

  private func pageInfo(_ contents: PageContents) throws(SegueError) -> Value {
    let state = userInfo?[Activity.browserStateKey].map { (key: Value.string(Activity.browserStateKey), value: $0) }
    switch contents {
    case .nothing: return .emptyDictionary
    case .browserState: return try .dictionary(state.map { [$0] } ?? [])
    case .ownActivity: return try ownInfo()
    case .enclosedActivity:
      let activity = try Value.dictionary([
        (key: .string("type"), value: .string(type)), (key: .string("userInfo"), value: try ownInfo()),
      ])
      return try .dictionary((state.map { [$0] } ?? []) + [(key: .string(Activity.pageActivityKey), value: activity)])
    }
  }

  /// `userInfo` without the entries that are of browsers; empty if it is larger than a page's own can be.
  private func ownInfo() throws(SegueError) -> Value {
    guard let userInfo, userInfo.encoding.count <= Limits.pageUserInfo else { return .emptyDictionary }
    return try .dictionary(
      (userInfo.entries ?? []).filter { entry in
        guard let key = entry.key.string else { return true }
        return !Text.isSame(key, Activity.browserStateKey) && !Text.isSame(key, Activity.pageActivityKey)
      })
  }

  /// The URL with which a browser is started. It goes to the place that the state of another browser names (R12.6).
  public var urlAtPlace: String? {
    guard let webpageURL, let state = userInfo?[Activity.browserStateKey] else { return webpageURL }
    return TextDirective.url(webpageURL, for: state)
  }
}
