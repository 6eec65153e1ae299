// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Testing

@testable import SegueModel

/// Handoff.md section 1, and the limits of section 9 that its setters hold.
@Suite struct ActivityTests {
  private var activity: Activity

  init() throws { activity = try Activity(type: "com.example.notes.editing") }

  private func status(_ body: () throws -> Void) -> Status {
    do {
      try body()
      return .ok
    } catch { return (error as? SegueError)?.status ?? .system }
  }

  /// Changes a clean activity.
  /// - Returns: the status, the mark afterwards, and the changed activity.
  private func change(
    _ what: (inout Activity) throws -> Void
  ) -> (status: Status, needsSave: Bool, activity: Activity) {
    var changed = activity
    changed.markNeedsSave(false)
    let given = status { try what(&changed) }
    return (given, changed.needsSave, changed)
  }

  // MARK: The type

  @Test func `a type has 1 to 255 bytes of UTF-8 (R1.1)`() throws {
    for type in ["a", String(repeating: "t", count: 255), String(repeating: "é", count: 127)] {
      #expect(try Activity(type: type).type == type)
    }
    #expect(status { _ = try Activity(type: "") } == .invalidArgument)
    for type in [String(repeating: "t", count: 256), String(repeating: "é", count: 128)] {
      #expect(status { _ = try Activity(type: type) } == .limitExceeded)
    }
    #expect(throws: SegueError(.limitExceeded, "type: 256 bytes, at most 255 are allowed")) {
      try Activity(type: String(repeating: "t", count: 256))
    }
  }

  // MARK: Birth

  @Test func `a new activity is dirty, and at its defaults (R1.4)`() {
    #expect(activity.needsSave)
    #expect(activity.title == nil && activity.userInfo == nil && activity.requiredUserInfoKeys == nil)
    #expect(activity.webpageURL == nil && activity.referrerURL == nil && activity.expirationDate == nil)
    #expect(activity.targetContentIdentifier == nil && activity.persistentIdentifier == nil)
    #expect(activity.keywords.kind == .set && activity.keywords.count == 0)
    #expect(!activity.supportsContinuationStreams && activity.payloadVersion == 0)
  }

  @Test func `it is eligible for handoff only, until it is told otherwise (R1.8)`() {
    var activity = activity
    #expect(activity.eligibility == .handoff)
    #expect(activity.isOfferable(at: 0))
    for what in [Activity.Eligibility.search, .publicIndexing, .prediction] {
      activity.setEligible(what, true)
      #expect(activity.eligibility == [.handoff, what])
      activity.setEligible(what, false)
    }
    activity.setEligible(.handoff, false)
    #expect(activity.eligibility == [] && !activity.isOfferable(at: 0))
  }

  // MARK: user_info

  @Test func `user_info is a dictionary, or absent (R1.2)`() throws {
    var activity = activity
    let info = try Value.dictionary([(.bool(true), .integer(1)), (.double(1), .null), (.integer(1), .double(-0.0))])
    try activity.setUserInfo(info, limit: 1_000)
    #expect(activity.userInfo == info)
    for other in [Value.null, .integer(1), try .array([]), try .set([])] {
      #expect(status { try activity.setUserInfo(other, limit: 1_000) } == .wrongKind)
      #expect(status { try activity.addUserInfoEntries(other, limit: 1_000) } == .wrongKind)
      #expect(activity.userInfo == info)
    }
    try activity.setUserInfo(nil, limit: 0)
    #expect(activity.userInfo == nil)
  }

  @Test func `merged entries win, and do not outgrow the limit (R1.10, section 9)`() throws {
    var activity = activity
    let limit = 64
    try activity.addUserInfoEntries(Value.dictionary([(.string("line"), .integer(1))]), limit: limit)
    try activity.addUserInfoEntries(
      Value.dictionary([(.string("line"), .integer(2)), (.string("row"), .integer(3))]), limit: limit)
    #expect(activity.userInfo?["line"] == .integer(2) && activity.userInfo?["row"] == .integer(3))
    let before = activity.userInfo
    let more = try Value.dictionary([(.string("line"), .data([UInt8](repeating: 0, count: limit)))])
    #expect(status { try activity.addUserInfoEntries(more, limit: limit) } == .userInfoTooLarge)
    #expect(activity.userInfo == before)
  }

  @Test func `user_info over its limit is the setter's error, which names the largest entries (section 9)`() throws {
    func entry(_ key: String, _ size: Int) -> (key: Value, value: Value) {
      (.string(key), .data([UInt8](repeating: 0, count: size)))
    }
    let info = try Value.dictionary([entry("a", 1), entry("b", 40), entry("c", 20), entry("d", 30)])
    let size = info.encoding.count
    var activity = activity
    try activity.setUserInfo(info, limit: size)
    #expect(throws: SegueError.self) { try activity.setUserInfo(info, limit: size - 1) }
    #expect(
      throws: SegueError(
        .userInfoTooLarge,
        "user_info: \(size) bytes, at most 10 are allowed; largest entries: \"b\" 42, \"d\" 32, \"c\" 21")
    ) { try activity.setUserInfo(info, limit: 10) }
    // A key may be as long as it likes; the message stays one line.
    let long = try Value.dictionary([entry(String(repeating: "k", count: 5_000), 1)])
    do throws(SegueError) {
      try activity.setUserInfo(long, limit: 10)
    } catch {
      #expect(error.message.utf8.count < 200 && error.message.contains("kkk…"))
    }
    #expect(activity.userInfo == info)
  }

  @Test func `the limits are those that are published (section 9)`() {
    let limits = Limits()
    #expect(Limits.advisedPayload == 3 * 1024)
    #expect(limits.userInfo == 256 * 1024 && Limits.value == 16 * 1024 * 1024)
    #expect(Limits.nesting == 64)
    #expect(Limits.title == 1024 && Limits.type == 255 && Limits.identifier == 255 && Limits.url == 8 * 1024)
    #expect(limits.save == 5_000 && limits.continuation == 20_000)
    #expect(limits.saveDelay == 2_000 && limits.saveLatest == 10_000 && Limits.offerUpdate == 100)
  }

  // MARK: Sets of strings

  @Test func `required keys are a set of strings; absent means all (R1.3)`() throws {
    var activity = activity
    #expect(activity.requiredUserInfoKeys == nil)
    let keys = try Value.set([.string("line"), .string("file")])
    try activity.setRequiredUserInfoKeys(keys)
    #expect(activity.requiredUserInfoKeys == keys)
    // An array will do: languages without sets have nothing else.
    try activity.setRequiredUserInfoKeys(Value.array([.string("line"), .string("file")]))
    #expect(activity.requiredUserInfoKeys == keys)
    // None at all is not the same as all.
    try activity.setRequiredUserInfoKeys(Value.set([]))
    #expect(activity.requiredUserInfoKeys?.count == 0)
    for wrong in [Value.string("line"), .emptyDictionary, try .set([.integer(1)]), try .array([.string("a"), .null])] {
      #expect(status { try activity.setRequiredUserInfoKeys(wrong) } == .wrongKind)
    }
    #expect(activity.requiredUserInfoKeys?.count == 0)
    let twice = try Value.array([.string("a"), .string("a")])
    #expect(status { try activity.setRequiredUserInfoKeys(twice) } == .invalidArgument)
    try activity.setRequiredUserInfoKeys(nil)
    #expect(activity.requiredUserInfoKeys == nil)
  }

  @Test func `keywords are a set of strings, empty when absent`() throws {
    var activity = activity
    try activity.setKeywords(Value.array([.string("milk"), .string("bread")]))
    #expect(activity.keywords.kind == .set && activity.keywords.count == 2)
    #expect(status { try activity.setKeywords(.set([.integer(1)])) } == .wrongKind)
    #expect(activity.keywords.count == 2)
    try activity.setKeywords(nil)
    #expect(activity.keywords.kind == .set && activity.keywords.count == 0)
  }

  // MARK: Attachments

  @Test func `64 attachments have a name that a file can have (R7.6)`() throws {
    var activity = activity
    let longest = String(repeating: "x", count: 255)
    for name in [longest, "é", "a b", "...", "-"] { try activity.attach(Attachment(name: name, size: 1)) }
    for name in ["", ".", "..", "a/b", "/", "a\0", longest + "x"] {
      #expect(status { try activity.attach(Attachment(name: name, size: 1)) } == .invalidArgument)
    }
    #expect(activity.attachments.count == 5)
    for number in 5..<64 { try activity.attach(Attachment(name: "\(number)", size: 1)) }
    #expect(status { try activity.attach(Attachment(name: "64", size: 1)) } == .limitExceeded)
    // In place of one that is there.
    try activity.attach(Attachment(name: "63", size: 2))
    #expect(activity.attachments.count == 64 && activity.attachments.last?.size == 2)
    try activity.removeAttachment("é")
    // Composed and decomposed are two names, as they are two keys (R1.2).
    #expect(status { try activity.removeAttachment("e\u{301}") } == .notFound)
    #expect(activity.attachments.count == 63)
  }

  @Test func `attaching marks the activity, and so does taking away (R1.7)`() throws {
    var activity = activity
    for change in [
      { (activity: inout Activity) in try activity.attach(Attachment(name: "a", size: 1)) },
      { (activity: inout Activity) in try activity.removeAttachment("a") },
    ] {
      activity.markNeedsSave(false)
      try change(&activity)
      #expect(activity.needsSave)
    }
    activity.markNeedsSave(false)
    #expect(status { try activity.removeAttachment("a") } == .notFound)
    #expect(!activity.needsSave)
  }

  // MARK: Texts, URLs, dates

  @Test func `texts have their limits in bytes, and the old one stays (section 9)`() throws {
    func holds(
      _ limit: Int, _ set: (inout Activity, String?) throws -> Void, _ get: (Activity) -> String?
    ) throws {
      var activity = activity
      for text in ["", String(repeating: "x", count: limit), nil, "here"] {
        try set(&activity, text)
        #expect(get(activity) == text)
      }
      let long = String(repeating: "é", count: limit / 2 + 1)
      #expect(status { try set(&activity, long) } == .limitExceeded)
      #expect(get(activity) == "here")
    }
    try holds(1024, { try $0.setTitle($1) }, { $0.title })
    try holds(
      255, { try $0.setPersistentIdentifier($1) },
      { $0.persistentIdentifier })
    try holds(
      255, { try $0.setTargetContentIdentifier($1) },
      { $0.targetContentIdentifier })
  }

  @Test(arguments: [
    "http://example.com", "https://u@example.com:8080/a%20b?c#d", "HTTPS://EXAMPLE.com/", "https://[::1]/x",
    "http://a?b",
  ])
  func `a page is absolute, http or https, with a host, and kept byte for byte (R1.5)`(url: String) throws {
    var activity = activity
    try activity.setWebpageURL(url)
    try activity.setReferrerURL(url)
    #expect(Text.isSame(activity.webpageURL, url) && Text.isSame(activity.referrerURL, url))
  }

  @Test(arguments: [
    "", "example.com", "/a", "//example.com/a", "ftp://example.com/", "mailto:a@b.c", "file:///a", "http:", "http:/a",
    "http://", "https:///a", "http://:80/", "http://u@/", "http://u@:80", "http://?a", "http://#a", "http://a b/",
    "http://é/", "httpss://a/", "htt://a", "http://a\0/", "javascript:alert(1)",
  ])
  func `what is none is INVALID_URL, and the old one stays (R1.5)`(url: String) throws {
    var activity = activity
    try activity.setWebpageURL("https://example.com/")
    try activity.setReferrerURL("https://example.org/")
    #expect(status { try activity.setWebpageURL(url) } == .invalidURL, "\(url)")
    #expect(status { try activity.setReferrerURL(url) } == .invalidURL, "\(url)")
    #expect(activity.webpageURL == "https://example.com/" && activity.referrerURL == "https://example.org/")
  }

  @Test func `a URL has at most 8 KiB (section 9)`() throws {
    var activity = activity
    let start = "https://example.com/"
    try activity.setWebpageURL(start + String(repeating: "x", count: 8 * 1024 - start.utf8.count))
    let long = start + String(repeating: "x", count: 8 * 1024 - start.utf8.count + 1)
    #expect(status { try activity.setWebpageURL(long) } == .limitExceeded)
    #expect(activity.webpageURL?.utf8.count == 8 * 1024)
    try activity.setWebpageURL(nil)
    #expect(activity.webpageURL == nil)
  }

  @Test func `past its date it is not offered; the date itself is past (R1.6)`() throws {
    var activity = activity
    try activity.setExpirationDate(1_000.5)
    #expect(activity.isOfferable(at: 1_000.25) && !activity.isExpired(at: 1_000.25))
    #expect(!activity.isOfferable(at: 1_000.5) && activity.isExpired(at: 1_000.5))
    for date in [Double.nan, .infinity, -.infinity] {
      #expect(status { try activity.setExpirationDate(date) } == .invalidArgument)
    }
    #expect(activity.expirationDate == 1_000.5)
    try activity.setExpirationDate(-1)
    #expect(activity.isExpired(at: 0))
    try activity.setExpirationDate(nil)
    #expect(activity.isOfferable(at: .greatestFiniteMagnitude))
  }

  // MARK: needs_save

  @Test func `changing a property marks the activity, but for its target (R1.7)`() throws {
    let set = try Value.set([.string("a")])
    let info = Value.emptyDictionary
    let changes: [(String, (inout Activity) throws -> Void)] = [
      ("title", { try $0.setTitle("t") }),
      ("user_info", { try $0.setUserInfo(info, limit: 10) }),
      ("entries", { try $0.addUserInfoEntries(info, limit: 10) }),
      ("required", { try $0.setRequiredUserInfoKeys(set) }),
      ("keywords", { try $0.setKeywords(set) }),
      ("webpage_url", { try $0.setWebpageURL("http://a/") }),
      ("referrer_url", { try $0.setReferrerURL("http://a/") }),
      ("persistent", { try $0.setPersistentIdentifier("p") }),
      ("expiration", { try $0.setExpirationDate(1) }),
      ("streams", { $0.setSupportsContinuationStreams(true) }),
      ("eligible", { $0.setEligible(.search, true) }),
      ("version", { $0.setPayloadVersion(7) }),
    ]
    for (name, what) in changes {
      let changed = change(what)
      #expect(changed.status == .ok && changed.needsSave, "\(name)")
    }
    let target = change { try $0.setTargetContentIdentifier("t") }
    #expect(target.status == .ok && !target.needsSave && target.activity.targetContentIdentifier == "t")
  }

  @Test func `what is refused does not mark it (R1.4)`() {
    let refusals: [(inout Activity) throws -> Void] = [
      { try $0.setTitle(String(repeating: "t", count: 2_000)) },
      { try $0.setUserInfo(.null, limit: 10) },
      { try $0.setKeywords(.null) },
      { try $0.setRequiredUserInfoKeys(.null) },
      { try $0.setWebpageURL("x") },
      { try $0.setReferrerURL("x") },
      { try $0.setExpirationDate(.nan) },
    ]
    for refusal in refusals {
      let refused = change(refusal)
      #expect(refused.status != .ok && !refused.needsSave)
    }
  }

  @Test func `changes while it is saved leave the mark as it was, but setting the mark counts (R1.7)`() throws {
    for mark in [false, true] {
      var activity = activity
      activity.markNeedsSave(mark)
      try activity.update(whileSaving: true) { (activity) throws(SegueError) in try activity.setTitle("saved") }
      #expect(activity.needsSave == mark && activity.title == "saved")
    }
    var activity = activity
    activity.markNeedsSave(false)
    try activity.update(whileSaving: false) { (activity) throws(SegueError) in try activity.setTitle("changed") }
    #expect(activity.needsSave)
    activity.markNeedsSave(false)
    #expect(!activity.needsSave)
    activity.markNeedsSave(true)
    #expect(activity.needsSave)
  }

  @Test func `the version of its payload is any of 32 bits (R1.9)`() {
    var activity = activity
    activity.setPayloadVersion(.max)
    #expect(activity.payloadVersion == .max)
  }

  /// The other half of R1.13, threads that do it at once, is `properties_from_all_threads` of Tests/runtime/busy.c.
  @Test func `what was read stays as it was read, whatever is changed later (R1.13)`() throws {
    var activity = activity
    try activity.setTitle("first")
    try activity.setKeywords(.set([.string("a")]))
    let read = (title: activity.title, keywords: activity.keywords)
    try activity.setTitle("second")
    try activity.setKeywords(nil)
    #expect(read.title == "first" && read.keywords.count == 1)
  }

  @Test func `that nothing needs saving is believed until the next change (R2.9)`() throws {
    var activity = try Activity(type: "note")
    #expect(!activity.isDeclaredSaved)
    activity.declareNeedsSave(false)
    #expect(activity.isDeclaredSaved && !activity.needsSave)
    try activity.setTitle("changed")
    #expect(!activity.isDeclaredSaved && activity.needsSave)
    activity.declareNeedsSave(false)
    try activity.update(whileSaving: true) { (activity) throws(SegueError) in try activity.setTitle("while saving") }
    #expect(!activity.isDeclaredSaved && !activity.needsSave)
    activity.markNeedsSave(false)
    #expect(!activity.isDeclaredSaved)
  }

  @Test func `a state that comes back replaces all but the attachments, and needs no saving (R3.10)`() throws {
    var (mine, theirs) = (try Activity(type: "note"), try Activity(type: "note"))
    try mine.setTitle("mine")
    try mine.setWebpageURL("https://example.com/")
    try mine.attach(Attachment(name: "photo", size: 3, source: AttachmentSource()))
    try theirs.setTitle("theirs")
    try theirs.setExpirationDate(7)
    try theirs.attach(Attachment(name: "other", size: 3))
    theirs.markNeedsSave(false)
    mine.replace(with: theirs)
    #expect(mine.title == "theirs" && mine.webpageURL == nil && mine.expirationDate == 7 && !mine.needsSave)
    #expect(mine.attachments.map { $0.name } == ["photo"] && mine.attachments[0].source != nil)
  }

  // MARK: Continued activities

  private func offered(isPrivate: Bool = false, page: String? = nil, isPublic: Bool = false) -> OfferDescription {
    OfferDescription(
      id: Identifier(high: 0, low: 1), type: activity.type, title: nil, payloadVersion: 0, sizeHint: 0,
      expirationDate: nil, supportsContinuationStreams: false, isPrivate: isPrivate, webOrigin: WebOrigin.of(page),
      isPublic: isPublic)
  }

  @Test func `public types are public unless the origin says otherwise, others only if it says so (R13.1)`() throws {
    let shared = ["EditingText", "PlayingMedia", "ReadingDocument", "UsingTerminal"].map { "SegueActivityType\($0)" }
    for type in shared + ["NSUserActivityTypeBrowsingWeb"] {
      var activity = try Activity(type: type)
      #expect(activity.isPublic, "\(type)")
      activity.setPublic(false)
      #expect(!activity.isPublic && activity.needsSave)
    }
    // A type that nobody has defined is the app's own.
    for type in ["com.example.note", "SegueActivityTypeComposingMessage", "SegueActivityTypeEditingTextX"] {
      var activity = try Activity(type: type)
      #expect(!activity.isPublic, "\(type)")
      activity.setPublic(true)
      #expect(activity.isPublic)
    }
  }

  @Test func `an activity offers its content type while it is public (R13.1, R13.2)`() throws {
    var activity = try Activity(type: "SegueActivityTypeReadingDocument")
    let info = try Value.dictionary([(key: .string("contentType"), value: .string("application/pdf"))])
    try activity.setUserInfo(info, limit: Limits.value)
    #expect(activity.offeredContentType == "application/pdf")
    activity.setPublic(false)
    #expect(activity.offeredContentType == nil)
  }

  @Test(arguments: ["https://example.com:0/", "https://example.com:65536/"])
  func `a URL at which no server can be is no page (R12.1)`(url: String) throws {
    var activity = activity
    try activity.setWebpageURL(url)
    #expect(throws: SegueError.self) { try activity.page(.nothing) }
  }

  @Test func `the page of an activity that is not public is not public (R6.3, R13.1)`() throws {
    var activity = activity
    try activity.setWebpageURL("https://example.com/")
    #expect(try activity.page(.nothing).isPublic, "its type is another one")
    activity.setPublic(false)
    #expect(try !activity.page(.nothing).isPublic)
  }

  @Test func `what was offered as public, and is so no longer, is not continued (R13.1)`() {
    var other = activity
    other.setPublic(false)
    #expect(other.rejection(to: offered(isPublic: true), at: 0)?.message == "the activity is public no longer")
    #expect(other.rejection(to: offered(), at: 0) == nil)
    other.setPublic(true)
    #expect(other.rejection(to: offered(isPublic: true), at: 0) == nil)
    #expect(other.rejection(to: offered(), at: 0) == nil)
  }

  @Test func `a page of another site than was offered is not continued (R12.1, W11)`() throws {
    var page = activity
    try page.setWebpageURL("https://evil.test/")
    let offer = offered(page: "https://example.com/a")
    #expect(
      page.rejection(to: offer, at: 0)?.message
        == "the page is of https://evil.test, and one of https://example.com was offered")
    for other in ["http://example.com/", "https://example.com:444/", "https://example.com@evil.test/"] {
      try page.setWebpageURL(other)
      #expect(page.rejection(to: offer, at: 0)?.status == .handoffFailed, "\(other)")
    }
    try page.setWebpageURL("https://EXAMPLE.com:443/b")
    #expect(page.rejection(to: offer, at: 0) == nil)
    try page.setWebpageURL("https://ex%61mple.com/")
    #expect(page.rejection(to: offer, at: 0)?.message.hasPrefix("the page is of no site") == true)
    // An older origin does not say whose page it is.
    #expect(page.rejection(to: offered(), at: 0) == nil)
  }

  @Test func `what says of itself that it is private is continued only if it was offered so (R10.2, A18)`() {
    var secret = activity
    secret.setPrivate(true)
    let refused = secret.rejection(to: offered(), at: 0)
    #expect(refused?.message == "the activity is private: it stays on its device")
    #expect(secret.rejection(to: offered(isPrivate: true), at: 0) == nil)
    #expect(activity.rejection(to: offered(), at: 0) == nil)
  }

  @Test func `an activity has expired a day after its date, as clocks of devices may differ (R1.6, A18)`() throws {
    var dated = activity
    try dated.setExpirationDate(1_000_000)
    let offer = offered()
    #expect(dated.rejection(to: offer, at: 1_000_000 + Limits.clockDifference - 1) == nil)
    #expect(dated.rejection(to: offer, at: 1_000_000 + Limits.clockDifference + 1)?.status == .handoffFailed)
  }
}
