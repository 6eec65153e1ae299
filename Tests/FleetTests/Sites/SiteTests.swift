// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueApp
import SegueModel
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// An app that keeps what is explained to it.
private final class AskingApp: ScriptedApp {
  private(set) var reasons: [Reason] = []

  override func queued(_ delivery: Delivery) {
    if case .explanation(_, let reasons) = delivery { self.reasons = reasons }
    super.queued(delivery)
  }
}

/// Web pages in a fleet whose agents ask simulated sites: routing, opening and asking are what ships (R12.2, R12.9).
@Suite final class SiteTests {
  private let fleet = Fleet(seed: 1)
  private let device: FleetDevice
  private let browsing = "NSUserActivityTypeBrowsingWeb"
  private var apps: [ScriptedApp] = []
  private var started: [String] = []

  init() throws { device = try fleet.addDevice("desk") }

  private func startAgent() throws -> FleetAgent {
    try device.startFleetAgent { FleetAgent(on: $0) }
    fleet.advance(1_500)
    return try #require(device.fleetAgent)
  }

  private func install(_ bundle: String, types: [String] = [], claims: [String]) throws {
    device.install(
      AppDeclaration(
        path: "/apps/\(bundle)", bundleIdentifier: bundle, team: "TEAM", types: types,
        domains: try claims.compactMap { try AssociatedDomain.read("activitycontinuation:\($0)") },
        launch: .command(LaunchCommand(arguments: ["app"])))
    ) { [unowned self] in started.append(bundle) }
    fleet.advance(1_000)
  }

  private func site(_ answers: [String: String]) {
    device.internet.site = { fetch in
      guard let text = answers[fetch.host] else { return .failed("no route") }
      return .answered(status: 200, body: Array(text.utf8))
    }
  }

  private func offer(
    _ url: String, type: String? = nil, by bundle: String = "com.example.editor", team: String = "OTHER"
  ) throws -> Identifier {
    let identity = AppIdentity(
      secret: fleet.drawIdentifier(), bundleIdentifier: bundle, name: "editor", team: team, types: [], isChooser: false)
    let app = AskingApp(try ScriptedApp.open(identity, on: device))
    apps.append(app)
    fleet.advance(500)
    let id = fleet.drawIdentifier()
    var activity = try Activity(type: type ?? browsing)
    try activity.setWebpageURL(url)
    app.becomeCurrent(id, activity)
    fleet.advance(500)
    return id
  }

  private func ask(_ agent: FleetAgent, _ entries: [(key: Value, value: Value)]) throws -> Result<Value, SegueError>? {
    var result: Result<Value, SegueError>?
    _ = agent.handle(try Value.dictionary(entries), ofProcess: 7) { result = $0 }
    fleet.advance(1_000)
    return result
  }

  /// The roles of the candidates that fit, and what is said of the page.
  private func route(_ agent: FleetAgent, _ activity: Identifier) throws -> [String] {
    let answer = try ask(
      agent, [(key: .string("ask"), value: .string("route")), (key: .string("activity"), value: .uuid(activity))])
    let value = try #require(try answer?.get())
    let fitting = (value["candidates"]?.elements ?? []).filter { $0["against"]?.elements?.isEmpty ?? false }
    let notes = value["web"]?.elements ?? []
    return fitting.map { "\($0["bundle_identifier"]?.string ?? "") \($0["role"]?.string ?? "")" }
      + notes.map { $0["reason"]?.string ?? "" }
  }

  /// The reasons that are explained to the app that offers an activity last.
  private func explained() throws -> [String] {
    let app = try #require(apps.last as? AskingApp)
    app.explain(0)
    fleet.advance(500)
    // The apps of other offers do not declare the type.
    let ofApps = ["no other app", "type not declared"]
    return app.reasons.filter { !ofApps.contains($0.reason) }.map { "\($0.reason): \($0.message)" }
  }

  private let listing = #"{"activitycontinuation": {"apps": ["TEAM.com.example.reader"]}}"#

  @Test func `the app that a site lists gets its page, an app that only claims it does not (R12.2, W3)`() throws {
    site(["example.com": listing, "example.org": #"{"activitycontinuation": {"apps": ["OTHER.x"]}}"#])
    device.installed.browsers = Browsers([Browser(identifier: "firefox", name: "Firefox")], default: { _ in "firefox" })
    let agent = try startAgent()
    try install("com.example.reader", claims: ["example.com", "example.org"])
    #expect(device.internet.siteFetches.map { $0.host } == ["example.com", "example.org"])
    let page = try offer("https://example.com/a")
    #expect(
      try route(agent, page) == [
        "com.example.reader association", "firefox url handler", "browser without extension",
      ])
    #expect(
      try route(agent, try offer("https://example.org/a")) == ["firefox url handler", "browser without extension"])
    let lie = try offer("https://example.com.evil.test/a")
    #expect(
      try route(agent, lie) == ["firefox url handler", "not claimed by an app", "browser without extension"])
    _ = try ask(
      agent, [(key: .string("ask"), value: .string("continue")), (key: .string("activity"), value: .uuid(page))])
    #expect(started == ["com.example.reader"] && device.pages.isEmpty)
    #expect(fleet.violation == nil)
  }

  @Test func `an activity is told what concerns its page, as route says of an offer (R6.5, R12.2)`() throws {
    let sites = [
      "listed": listing, "other": #"{"activitycontinuation": {"apps": ["OTHER.x"]}}"#,
      "links": #"{"applinks": {"details": [{"appIDs": ["TEAM.com.example.reader"]}]}}"#, "pages": "<!doctype html>",
    ]
    site(Dictionary(uniqueKeysWithValues: sites.map { ("\($0).example.com", $1) }))
    _ = try startAgent()
    try install("com.example.reader", claims: (sites.keys + ["away"]).map { "\($0).example.com" })
    _ = try offer("https://elsewhere.example.com/", type: "com.example.note")
    #expect(try explained().map { $0.prefix { $0 != ":" } } == ["not claimed by an app", "no default browser"])
    device.installed.browsers = Browsers([Browser(identifier: "firefox", name: "Firefox")], default: { _ in "firefox" })
    fleet.advance(1_000)
    for (host, reason) in [
      ("other", "not listed by the site"), ("links", "only applinks listed"), ("pages", "site answers HTML"),
      ("away", "site unreachable"),
    ] {
      _ = try offer("https://\(host).example.com/a", type: "com.example.note")
      let said = try explained()
      #expect(said.map { $0.prefix { $0 != ":" } } == [Substring(reason), "browser without extension"])
      #expect(said.first?.contains(": com.example.reader: the site ") ?? false, "the app that claims it is named")
      #expect(said.first?.contains("(UTC)") ?? false, "and when the site was asked")
    }
    _ = try offer("https://listed.example.com/a", type: "com.example.note")
    #expect(try explained().map { $0.prefix { $0 != ":" } } == ["browser without extension"])
    #expect(fleet.violation == nil)
  }

  @Test func `a page's own activity goes to the app that its site lists, another page's does not (R12.7, W1)`() throws {
    site(["example.com": listing])
    device.installed.browsers = Browsers(
      [Browser(identifier: "chromium", name: "Chromium")], default: { _ in "chromium" })
    let agent = try startAgent()
    try install("com.example.reader", types: ["com.example.note"], claims: ["example.com"])
    func offerPage(_ url: String) throws -> Identifier {
      try offer(url, type: "com.example.note", by: "org.mozilla.firefox", team: "local.segue.Segue.browsers")
    }
    let other = try offerPage("https://example.org/")
    #expect(try route(agent, other).first == "chromium url handler")
    let page = try offerPage("https://example.com/a")
    #expect(try route(agent, page).prefix(2) == ["com.example.reader association", "chromium url handler"])
    _ = try ask(
      agent, [(key: .string("ask"), value: .string("continue")), (key: .string("activity"), value: .uuid(page))])
    #expect(started == ["com.example.reader"] && device.pages.isEmpty)
    #expect(fleet.violation == nil)
  }

  @Test func `a page without an app is opened in the browser, once, as far as anybody knows (R12.3, R6.3)`() throws {
    device.installed.browsers = Browsers([Browser(identifier: "firefox", name: "Firefox")], default: { _ in "firefox" })
    let agent = try startAgent()
    let page = try offer("https://example.com/a", type: "com.example.note")
    let answer = try ask(
      agent, [(key: .string("ask"), value: .string("continue")), (key: .string("activity"), value: .uuid(page))])
    let report = try #require(try answer?.get())
    #expect(device.pages.map { $0.url } == ["https://example.com/a"])
    #expect(report["outcome"]?.int64 == Int64(Outcome.unknown.rawValue))
    #expect(report["bundle_identifier"]?.string == "firefox")
    fleet.advance(60_000)
    #expect(device.pages.count == 1 && fleet.violation == nil)
  }

  @Test func `no offer and no page has a site asked: only manifests do (R12.9, W18)`() throws {
    let agent = try startAgent()
    try install("com.example.reader", claims: ["example.com"])
    #expect(device.internet.siteFetches.count == 1)
    _ = try offer("https://a.example/")
    let app = try #require(apps.last)
    for number in 0..<1_000 {
      var activity = try Activity(type: browsing)
      try activity.setWebpageURL("https://host\(number).example/")
      let page = fleet.drawIdentifier()
      app.becomeCurrent(page, activity)
      fleet.advance(120)
      if number % 20 == 0 { #expect(try route(agent, page).allSatisfy { !$0.contains("association") }) }
      if number % 100 == 0 { _ = try ask(agent, [(key: .string("ask"), value: .string("apps"))]) }
    }
    #expect(device.internet.siteFetches.count == 1)
  }

  @Test func `a site is asked again after a day, and its answer outlives the agent (R12.9)`() throws {
    site(["example.com": listing])
    let agent = try startAgent()
    try install("com.example.reader", claims: ["example.com"])
    agent.leave()
    fleet.advance(2_000)
    let next = try startAgent()
    let page = try offer("https://example.com/")
    #expect(try route(next, page).first == "com.example.reader association")
    #expect(device.internet.siteFetches.count == 1)
    fleet.advance(25 * 3_600_000)
    #expect(device.internet.siteFetches.count == 2)
    let count = try ask(next, [(key: .string("ask"), value: .string("refresh"))])
    #expect(try count?.get()["count"]?.int64 == 1 && device.internet.siteFetches.count == 3)
    let other = try ask(
      next, [(key: .string("ask"), value: .string("refresh")), (key: .string("site"), value: .string("a.example"))])
    #expect(throws: SegueError.self) { try other?.get() }
  }
}
