// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Answers the requests of control clients about apps: which there are, which one continues an activity, and which one
/// the user wants (R6.2, R6.5). No I/O. For one thread.
final class RoutingRequests {
  /// The most bytes of an app's types in an answer.
  private static let typesSize = 4 * 1024
  /// The most candidates in an answer.
  private static let candidateLimit = 64
  /// The most reasons about the page of an activity in an explanation.
  private static let pageReasonLimit = 16

  private let inbox: InboxService

  init(_ inbox: InboxService) { self.inbox = inbox }

  // MARK: - Apps

  /// All manifests from one on, as many as fit.
  func apps(_ request: Value) throws(SegueError) -> Value {
    let entries = inbox.installed.catalogue.entries
    var known = 0
    if let value = request["after"] {
      guard let number = value.int64.flatMap({ Int(exactly: $0) }), number >= 0 else {
        throw SegueError(.invalidArgument, "after: must be a number of manifests")
      }
      known = number
    }
    // There may be fewer now.
    let rest = entries[min(known, entries.count)...]
    return try ControlRequests.page("apps", of: rest, atMost: .max) { entry throws(SegueError) in try value(of: entry) }
  }

  private func value(of entry: Catalogue.Entry) throws(SegueError) -> Value {
    var entries: [(key: Value, value: Value)] = [(key: .string("path"), value: .string(Self.cut(entry.path)))]
    switch entry.state {
    case .declared(let app): entries += try values(of: app)
    case .shadowed(let app, let by):
      entries += try values(of: app)
      entries.append((key: .string("shadowed_by"), value: .string(Self.cut(by))))
    case .broken(let error): entries.append((key: .string("error"), value: .string(Self.cut(error.message))))
    }
    return try .dictionary(entries)
  }

  private func values(of app: AppDeclaration) throws(SegueError) -> [(key: Value, value: Value)] {
    var types: [Value] = []
    var size = 0
    let running = inbox.running(app.bundleIdentifier)
    // The types that an app declares while it runs are added to those of its manifest (R6.1).
    var all = DeclaredTypes(app.types)
    for process in running { for type in process.types { all.add(type) } }
    for type in all.all {
      size += type.utf8.count
      guard size <= Self.typesSize else { break }
      types.append(.string(type))
    }
    var entries: [(key: Value, value: Value)] = [
      (key: .string("bundle_identifier"), value: .string(app.bundleIdentifier)),
      (key: .string("name"), value: .string(app.manifest.name ?? running.first?.name ?? app.name)),
      (key: .string("team"), value: .string(app.manifest.team ?? running.first?.team ?? app.team)),
      (key: .string("types"), value: try .array(types)),
      (key: .string("type_count"), value: .integer(Int64(all.all.count))),
      (key: .string("running"), value: .bool(!running.isEmpty)),
    ]
    if !app.warnings.isEmpty {
      entries.append((key: .string("warnings"), value: try .array(app.warnings.map { Value.string($0) })))
    }
    if let version = app.version { entries.append((key: .string("version"), value: .string(version))) }
    if case .impossible(let error) = app.launch {
      entries.append((key: .string("no_launch"), value: .string(Self.cut(error.message))))
    }
    return entries
  }

  // MARK: - Routes

  /// The candidates for an offer, or for an activity that the client describes. The first one would continue it, if
  /// it is eligible.
  func route(_ request: Value) throws(SegueError) -> Value {
    let query: RoutingQuery
    // The library asks about an activity that need not be offered (segue_activity_get_route): it names the type.
    if request["activity"] != nil || request["type"] == nil {
      guard let activity = request["activity"]?.uuid else {
        throw SegueError(.invalidArgument, "activity: must be a UUID")
      }
      query = try inbox.query(for: activity)
    } else {
      var version: UInt32 = 0
      if let value = request["payload_version"] {
        guard let number = value.int64.flatMap({ UInt32(exactly: $0) }) else {
          throw SegueError(.invalidArgument, "payload_version: must be 0 to 4294967295")
        }
        version = number
      }
      query = RoutingQuery(
        type: try ControlRequests.text(request, "type", atMost: Limits.type),
        team: try ControlRequests.text(request, "team", atMost: Limits.identifier),
        bundleIdentifier: try ControlRequests.text(request, "bundle_identifier", atMost: Limits.identifier),
        payloadVersion: version,
        origin: request["origin"] == nil ? nil : try ControlRequests.identifier(request, "origin"),
        webOrigin: try webOrigin(request), isPublic: try ControlRequests.flag(request, "public"),
        contentType: try contentType(request))
    }
    let decision = inbox.router.explain(query)
    var list: [Value] = []
    var size = 0
    for candidate in decision.candidates.prefix(Self.candidateLimit) {
      let value = try value(of: candidate)
      size += value.encoding.count
      guard size <= ControlRequests.pageSize || list.isEmpty else { break }
      list.append(value)
    }
    var notes: [Value] = []
    for note in decision.notes {
      let (reason, message) = Self.words(for: note)
      notes.append(try Self.value(reason, message))
    }
    return try .dictionary([
      (key: .string("web"), value: .array(notes)),
      (key: .string("candidates"), value: .array(list)),
      (key: .string("count"), value: .integer(Int64(decision.candidates.count))),
    ])
  }

  private func webOrigin(_ request: Value) throws(SegueError) -> WebOrigin? {
    guard request["web_origin"] != nil else { return nil }
    guard let origin = WebOrigin.read(try ControlRequests.text(request, "web_origin", atMost: Limits.webOrigin)) else {
      throw SegueError(.invalidArgument, "web_origin: must be scheme, host and port, as in https://example.com")
    }
    return origin
  }

  private func contentType(_ request: Value) throws(SegueError) -> String? {
    guard request["content_type"] != nil else { return nil }
    return try ControlRequests.text(request, "content_type", atMost: Limits.type)
  }

  private func value(of candidate: RoutingCandidate) throws(SegueError) -> Value {
    let preference: StaticString =
      switch candidate.preference {
      case .none: "none"
      case .used: "used"
      case .desktopDefault: "desktop default"
      case .sameTeam: "same team"
      case .chosen: "chosen"
      case .sameBundle: "same bundle"
      }
    let role: StaticString =
      switch candidate.role {
      case .app: "app"
      case .association, .siteApp: "association"
      case .browser, .otherBrowser: "browser"
      case .urlHandler: "url handler"
      case .opener: "opener"
      case .defaultApplication: "default application"
      }
    var against: [Value] = []
    for obstacle in candidate.obstacles {
      let (reason, message) = Self.words(for: obstacle)
      against.append(try Self.value(reason, message))
    }
    return try .dictionary([
      (key: .string("bundle_identifier"), value: .string(candidate.bundleIdentifier)),
      (key: .string("name"), value: .string(candidate.name)),
      (key: .string("running"), value: .bool(candidate.isRunning)),
      (key: .string("manifest"), value: .bool(candidate.declaration != nil)),
      (key: .string("role"), value: .string(String(joining: "\(role)"))),
      (key: .string("preference"), value: .string(String(joining: "\(preference)"))),
      (key: .string("public_type"), value: .bool(candidate.isByPublicType)),
      (key: .string("against"), value: try .array(against)),
    ])
  }

  private static func words(
    for obstacle: RoutingCandidate.Obstacle
  ) -> (reason: StaticString, message: DiagnosticText) {
    switch obstacle {
    case .isOrigin: ("own app", "it is the origin, and no other process of it runs")
    case .teamDiffers: ("team differs", "it is an app of another team, and the activity is not public")
    case .typeNotDeclared: ("type not declared", "it does not declare the type of the activity")
    case .versionDeclined(let versions):
      ("version declined", "it takes the payload versions \(versions.map { String($0) }.joined(separator: ", "))")
    case .noManifest: ("no manifest", "it does not run, and no manifest describes it")
    case .noLaunchCommand(let error): ("no launch command", DiagnosticText(of: error.message))
    case .site(let obstacle): words(for: obstacle)
    }
  }

  /// - Parameter seconds: since 1970.
  private static func utc(_ seconds: Double) -> DiagnosticText {
    "\(ClockAdvice.text(Int64(exactly: seconds.rounded(.down)) ?? 0)) (UTC)"
  }

  private static func words(for obstacle: SiteObstacle) -> (reason: StaticString, message: DiagnosticText) {
    switch obstacle {
    case .notAsked: ("site not asked", "the site has not answered yet which apps continue its pages")
    case .notListed(let date):
      ("not listed by the site", "the site does not list it for Handoff, by its answer of \(utc(date))")
    case .onlyAppLinks(let date):
      (
        "only applinks listed",
        "the site lists apps under applinks alone, not under activitycontinuation, by its answer of \(utc(date))"
      )
    case .html(let date):
      (
        "site answers HTML",
        "the site answers with a page in place of apple-app-site-association, by its answer of \(utc(date))"
      )
    case .nothing(let reason, let date):
      ("not listed by the site", "\(reason), by the site's answer of \(utc(date))")
    case .unreachable(let since, let reason):
      ("site unreachable", "the site has not been reached since \(utc(since)): \(reason)")
    }
  }

  private static func words(for note: RoutingDecision.WebNote) -> (reason: StaticString, message: DiagnosticText) {
    switch note {
    case .noPage: ("no web page", "the activity has no webpage_url that a browser could open")
    case .notClaimed(let host): ("not claimed by an app", "no manifest here claims activitycontinuation:\(host)")
    case .noBrowser:
      (
        "no default browser",
        "neither mimeapps.list nor an installed .desktop file names a program for web pages, and none was chosen"
      )
    case .noExtension(let name):
      (
        "browser without extension",
        "\(name) opens pages by their URL alone: its extension is not installed, not enabled, or not running"
      )
    }
  }

  /// The reasons that concern the page of an activity, in the form of `Routing.Obstacle.page`.
  static func pageReasons(_ decision: RoutingDecision) -> [Message.Explanation] {
    var reasons: [Message.Explanation] = []
    func add(_ words: (reason: StaticString, message: DiagnosticText), of app: String?) {
      guard reasons.count < 2 * pageReasonLimit else { return }
      let message = app.map { String(joining: "\($0): \(words.message.string)") } ?? words.message.string
      for text in [String(joining: "\(words.reason)"), cut(message)] {
        reasons.append(Message.Explanation(name: text, obstacle: .page))
      }
    }
    for candidate in decision.candidates {
      for case .site(let obstacle) in candidate.obstacles { add(words(for: obstacle), of: candidate.bundleIdentifier) }
    }
    for note in decision.notes { add(words(for: note), of: nil) }
    return reasons
  }

  private static func value(_ reason: StaticString, _ message: DiagnosticText) throws(SegueError) -> Value {
    try .dictionary([
      (key: .string("reason"), value: .string(String(joining: "\(reason)"))),
      (key: .string("message"), value: .string(cut(message.string))),
    ])
  }

  // MARK: - Choices

  /// Remembers which app continues a type, or forgets it.
  func choose(_ request: Value, _ answer: @escaping (Result<Value, SegueError>) -> Void) throws(SegueError) {
    let type = try ControlRequests.text(request, "type", atMost: Limits.type)
    let app = request["app"] == nil ? nil : try ControlRequests.text(request, "app", atMost: Limits.identifier)
    inbox.choose(app, for: type) { error in answer(error.map { .failure($0) } ?? .success(.emptyDictionary)) }
  }

  // MARK: - Elements

  /// Text of any length, as far as an answer has room for it.
  private static func cut(_ text: String) -> String {
    text.utf8.count > Limits.title ? Text.start(of: text, atMost: Limits.title - 3) + "…" : text
  }
}
