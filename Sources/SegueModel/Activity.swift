// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The activity of a user in an app (handoff.md section 1): plain state with its rules, no lock, no clock.
///
/// Each setter checks its input, keeps the old value when it throws, and marks the activity as needing to be saved.
public struct Activity: Sendable {
  /// Reverse DNS by convention; 1…255 bytes of UTF-8 (R1.1).
  public let type: String
  public private(set) var title: String?
  /// A dictionary (R1.2).
  public private(set) var userInfo: Value?
  /// A set of strings; nil: all keys are required (R1.3).
  public private(set) var requiredUserInfoKeys: Value?
  /// A set of strings.
  public private(set) var keywords = Activity.emptySet
  public private(set) var webpageURL: String?
  /// The origin of `webpageURL` (R12.1); nil: there is none that a browser could open.
  public private(set) var webOrigin: WebOrigin?
  public private(set) var referrerURL: String?
  public private(set) var targetContentIdentifier: String?
  public private(set) var persistentIdentifier: String?
  /// Seconds since 1970 (R1.6).
  public private(set) var expirationDate: Double?
  public private(set) var supportsContinuationStreams = false
  /// Whether it stays on its device (R10.2).
  public private(set) var isPrivate = false
  /// The word of its origin on whether it is public (R13.1); nil: its type decides.
  public private(set) var publicity: Bool?
  public private(set) var eligibility: Eligibility = .handoff
  /// The app's own version of its `userInfo` layout (R1.9).
  public private(set) var payloadVersion: UInt32 = 0
  /// The attachments (R7.6). Invariant: names are unique.
  public private(set) var attachments: [Attachment] = []
  /// True for a new activity (R1.4).
  public private(set) var needsSave = true
  /// Whether the app has declared that nothing needs saving, and nothing has changed since (R2.9).
  public private(set) var isDeclaredSaved = false
  /// Whether the agent offers the last snapshot once the app has ended (R2.5). It is of this app: no document has it,
  /// and a change of it needs no saving.
  public var keepsOffering = false

  public struct Eligibility: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let handoff = Eligibility(rawValue: 1)
    public static let search = Eligibility(rawValue: 2)
    public static let publicIndexing = Eligibility(rawValue: 4)
    public static let prediction = Eligibility(rawValue: 8)
  }

  public init(type: String) throws(SegueError) {
    try Text.check(type, "type", atMost: Limits.type)
    self.type = type
  }

  /// Changes properties. Changes by the saving thread during a save do not mark the activity (R1.7).
  public mutating func update(
    whileSaving: Bool, _ change: (inout Activity) throws(SegueError) -> Void
  ) throws(SegueError) {
    let before = needsSave
    try change(&self)
    if whileSaving { needsSave = before }
  }

  public mutating func setTitle(_ title: String?) throws(SegueError) {
    try Text.check(title, "title", atMost: Limits.title)
    self.title = title
    markChanged()
  }

  /// - Parameter limit: bytes of encoding that are allowed (section 9).
  public mutating func setUserInfo(_ userInfo: Value?, limit: Int) throws(SegueError) {
    if let userInfo {
      guard userInfo.kind == .dictionary else {
        throw SegueError(.wrongKind, "user_info: a dictionary is needed, not \(userInfo.kind.name)")
      }
      try UserInfoSize.check(userInfo, limit: limit)
    }
    self.userInfo = userInfo
    markChanged()
  }

  /// For the same key the new value wins (R1.10).
  public mutating func addUserInfoEntries(_ entries: Value, limit: Int) throws(SegueError) {
    try Self.checkEntries(entries)
    try setUserInfo((userInfo ?? .emptyDictionary).merging(entries), limit: limit)
  }

  /// Throws WRONG_KIND.
  static func checkEntries(_ entries: Value) throws(SegueError) {
    guard entries.kind == .dictionary else {
      throw SegueError(.wrongKind, "entries: a dictionary is needed, not \(entries.kind.name)")
    }
  }

  /// Exchanges user_info for another one, without a mark: a save has a draft of it (R4.2).
  public mutating func exchangeUserInfo(_ userInfo: inout Value?) { swap(&self.userInfo, &userInfo) }

  public mutating func setRequiredUserInfoKeys(_ keys: Value?) throws(SegueError) {
    requiredUserInfoKeys = try keys.map { value throws(SegueError) in try Activity.stringSet(value, "keys") }
    markChanged()
  }

  public mutating func setKeywords(_ keywords: Value?) throws(SegueError) {
    self.keywords =
      try keywords.map { value throws(SegueError) in try Activity.stringSet(value, "keywords") }
      ?? Activity.emptySet
    markChanged()
  }

  /// Absolute, RFC 3986, http or https, kept byte for byte (R1.5).
  public mutating func setWebpageURL(_ url: String?) throws(SegueError) {
    try WebURL.check(url, "webpage_url")
    webpageURL = url
    webOrigin = WebOrigin.of(url)
    markChanged()
  }

  public mutating func setReferrerURL(_ url: String?) throws(SegueError) {
    try WebURL.check(url, "referrer_url")
    referrerURL = url
    markChanged()
  }

  /// Does not mark the activity (R1.7).
  public mutating func setTargetContentIdentifier(_ identifier: String?) throws(SegueError) {
    try Text.check(identifier, "target_content_identifier", atMost: Limits.identifier)
    targetContentIdentifier = identifier
  }

  public mutating func setPersistentIdentifier(_ identifier: String?) throws(SegueError) {
    try Text.check(identifier, "persistent_identifier", atMost: Limits.identifier)
    persistentIdentifier = identifier
    markChanged()
  }

  public mutating func setExpirationDate(_ seconds: Double?) throws(SegueError) {
    if let seconds, !seconds.isFinite {
      throw SegueError(.invalidArgument, "expiration_date: must be finite, or absent")
    }
    expirationDate = seconds
    markChanged()
  }

  public mutating func setSupportsContinuationStreams(_ supports: Bool) {
    supportsContinuationStreams = supports
    markChanged()
  }

  public mutating func setPrivate(_ isPrivate: Bool) {
    self.isPrivate = isPrivate
    markChanged()
  }

  /// - Parameter publicity: nil: its type decides.
  public mutating func setPublic(_ publicity: Bool?) {
    self.publicity = publicity
    markChanged()
  }

  public mutating func setEligible(_ what: Eligibility, _ eligible: Bool) {
    if eligible { eligibility.insert(what) } else { eligibility.remove(what) }
    markChanged()
  }

  public mutating func setPayloadVersion(_ version: UInt32) {
    payloadVersion = version
    markChanged()
  }

  /// Attaches it, in place of an attachment of the same name. Throws INVALID_ARGUMENT, LIMIT_EXCEEDED.
  public mutating func attach(_ attachment: Attachment) throws(SegueError) {
    guard Attachment.isName(attachment.name) else {
      throw SegueError(.invalidArgument, "name: must be one that a file can have, of 1…255 bytes")
    }
    if let index = index(of: attachment.name) {
      attachments[index] = attachment
    } else if attachments.count < Limits.attachments {
      attachments.append(attachment)
    } else {
      throw SegueError(.limitExceeded, "activity: has 64 attachments, which is the most")
    }
    markChanged()
  }

  /// Throws NOT_FOUND.
  public mutating func removeAttachment(_ name: String) throws(SegueError) {
    guard let index = index(of: name) else { throw Self.noAttachment }
    attachments.remove(at: index)
    markChanged()
  }

  /// Throws NOT_FOUND.
  public func attachment(_ name: String) throws(SegueError) -> Attachment {
    guard let index = index(of: name) else { throw Self.noAttachment }
    return attachments[index]
  }

  private static var noAttachment: SegueError { SegueError(.notFound, "name: nothing is attached under it") }

  private func index(of name: String) -> Int? { attachments.firstIndex { Text.isSame($0.name, name) } }

  /// Takes over the state that another app has of the same activity (R3.10). The type and the attachments stay: the
  /// bytes of these are here.
  public mutating func replace(with other: Activity) {
    let (attachments, keepsOffering) = (self.attachments, self.keepsOffering)
    self = other
    (self.attachments, self.keepsOffering) = (attachments, keepsOffering)
  }

  /// Sets the mark explicitly, which counts during a save, too (R1.7).
  public mutating func markNeedsSave(_ needsSave: Bool) {
    self.needsSave = needsSave
    isDeclaredSaved = false
  }

  /// Sets the mark on behalf of the app; a false value holds until the next change (R2.9).
  public mutating func declareNeedsSave(_ needsSave: Bool) {
    self.needsSave = needsSave
    isDeclaredSaved = !needsSave
  }

  private mutating func markChanged() { markNeedsSave(true) }

  /// Whether the activity may be offered at `date`, in seconds since 1970 (R1.6, R1.8).
  public func isOfferable(at now: Double) -> Bool {
    eligibility.contains(.handoff) && !isExpired(at: now)
  }

  /// Whether the activity is saved for search (R8.1): what is private is not (R10.2).
  public var isSearchable: Bool { eligibility.contains(.search) && !isPrivate }

  public func isExpired(at now: Double) -> Bool {
    expirationDate.map { $0 <= now } ?? false
  }

  /// Why a receiver may not continue it, whatever the hub of its origin says (A18); nil if it may.
  /// - Parameters:
  ///   - offer: as the receiver knows it. Hubs tell other devices of nothing that is private, so what is private, and
  ///     was offered as if it were not, is of another device.
  ///   - now: seconds since 1970. Clocks of devices may differ by a day, so a date counts as past a day later.
  public func rejection(to offer: OfferDescription, at now: Double) -> SegueError? {
    if isPrivate, !offer.isPrivate {
      return SegueError(.handoffFailed, "the activity is private: it stays on its device")
    }
    if offer.isPublic, !isPublic {
      return SegueError(.handoffFailed, "the activity is public no longer")
    }
    // An app was chosen for the page that was offered (R12.1).
    if let offered = offer.webOrigin, webpageURL != nil, !WebOrigin.isSame(webOrigin, offered) {
      return SegueError(
        .handoffFailed, "the page is of \(webOrigin?.text ?? "no site"), and one of \(offered.text) was offered")
    }
    guard isExpired(at: now - Limits.clockDifference) else { return nil }
    return SegueError(.handoffFailed, "the activity has expired")
  }

  /// Why an app does not get it by an offer of that type, or nil: it gets the type that was offered, or another one
  /// that it declares (R2.6, R6.2), such as a web page in place of what no app takes (R6.3).
  public func rejection(toType offered: String, declared: [String]) -> SegueError? {
    if Text.isSame(type, offered) || declared.contains(where: { Text.isSame($0, type) }) { return nil }
    return SegueError(.malformed, "the origin's activity is of the type \(type), not as offered")
  }

  /// Tag 258, and an empty array.
  private static let emptySet = Value(trusted: [0xd9, 0x01, 0x02, 0x80])

  /// Converts a set or array of strings to a set.
  public static func stringSet(_ value: Value, _ name: String) throws(SegueError) -> Value {
    guard value.kind == .set || value.kind == .array else {
      throw SegueError(.wrongKind, "\(name): a set of strings is needed, not \(value.kind.name)")
    }
    var reader = ValueReader(value)
    _ = reader.next()
    var writer = ValueWriter()
    try writer.begin(.set)
    while reader.next()?.kind != nil {
      try Memory.check(reader.itemSizeAtMost)
      guard let element = reader.take() else { break }
      guard element.kind == .string else {
        throw SegueError(.wrongKind, "\(name): only strings can be in it, not \(element.briefDiagnostic)")
      }
      if value.kind == .array { try writer.put(element) }
    }
    if value.kind == .set { return value }
    try writer.end()
    return try writer.finish()
  }
}
