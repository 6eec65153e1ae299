// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The choice of what continues an activity that a page has of its own, and an app's in a page (R12.7).
@Suite struct PageActivityTests {
  private let note = "com.example.note"
  private let browsing = "NSUserActivityTypeBrowsingWeb"
  private let browsers = "local.segue.Segue.browsers"
  private let firefox = "org.mozilla.firefox"
  private let chromium = "org.chromium.Chromium"

  private func app(_ bundle: String, types: [String] = [], claims: [String] = ["example.com"]) throws -> AppDeclaration
  {
    AppDeclaration(
      path: "/apps/\(bundle).plist", bundleIdentifier: bundle, team: "TEAM", types: types,
      domains: try claims.compactMap { try AssociatedDomain.read("activitycontinuation:\($0)") },
      launch: .command(LaunchCommand(arguments: ["app"])))
  }

  private func host(_ bundle: String, team: String? = nil) -> AppIdentity {
    AppIdentity(
      secret: Identifier(high: 1, low: UInt64(bundle.utf8.count)), bundleIdentifier: bundle, name: bundle,
      team: team ?? browsers, types: [browsing], isChooser: false)
  }

  private func query(
    _ url: String = "https://example.com/a", type: String? = nil, by bundle: String? = nil, team: String? = nil,
    origin: Identifier? = nil
  ) -> RoutingQuery {
    RoutingQuery(
      type: type ?? note, team: team ?? browsers, bundleIdentifier: bundle ?? firefox, origin: origin,
      webOrigin: WebOrigin.of(url))
  }

  private func router(
    _ apps: [AppDeclaration], running: [AppIdentity] = [], listing: [String] = ["TEAM.notes"], browser: String? = nil
  ) -> Router {
    Router(
      catalogue: Catalogue(apps.map { (path: $0.path, result: .success($0)) }), running: RunningApps(running),
      browsers: Browsers(
        [Browser(identifier: "firefox", name: "Firefox"), Browser(identifier: "chromium", name: "Chromium")],
        default: { _ in browser }),
      sites: SiteStatuses([("example.com", SiteStatus(answer: .apps(listing), checkedAt: 1))]))
  }

  /// The eligible candidates with their roles, in order.
  private func words(_ decision: RoutingDecision) -> [String] {
    decision.candidates.filter { $0.isEligible }.map { "\($0.bundleIdentifier) \($0.role)" }
  }

  @Test func `an app of the site that declares the type comes first, then a browser, then the page alone (R12.7)`()
    throws
  {
    let hosts = [host(firefox), host(chromium)]
    let own = hosts[0].id
    let router = router([try app("notes", types: [note])], running: hosts, browser: "firefox")
    #expect(words(router.route(query(origin: own))) == ["notes siteApp", "\(chromium) otherBrowser"])
    // On another device the user's browser comes before others.
    #expect(
      words(router.route(query(by: chromium))) == [
        "notes siteApp", "\(firefox) browser", "\(chromium) otherBrowser",
      ])
    let silent = self.router([try app("notes")], running: hosts, browser: "firefox")
    #expect(
      words(silent.route(query())) == [
        "\(firefox) browser", "\(chromium) otherBrowser", "notes association",
      ])
    // A process may declare more than its manifest.
    let process = AppIdentity(
      secret: Identifier(high: 2, low: 1), bundleIdentifier: "notes", name: "Notes", team: "TEAM", types: [note],
      isChooser: false)
    #expect(words(self.router([try app("notes")], running: [process]).route(query())) == ["notes siteApp"])
  }

  @Test(arguments: [
    ("https://notexample.com/", ["TEAM.notes"]), ("https://example.com.evil.test/", ["TEAM.notes"]),
    ("https://example.com:8443/", ["TEAM.notes"]), ("https://xn--example.com/", ["TEAM.notes"]),
    ("https://example.com/", ["TEAM.other"]), ("https://example.com/", []),
  ])
  func `a page of another site, or one that does not list the app, gives it nothing (R12.7, W1, W3)`(
    url: String, listing: [String]
  ) throws {
    let router = router([try app("notes", types: [note])], running: [host(chromium)], listing: listing)
    #expect(words(router.route(query(url))) == ["\(chromium) otherBrowser"])
    // The control.
    let listed = self.router([try app("notes", types: [note])], running: [host(chromium)])
    #expect(words(listed.route(query())).first == "notes siteApp")
  }

  @Test func `a page that others can change on its way has no activity of its own (R12.7, W1)`() throws {
    let router = router([try app("notes", types: [note])], running: [host(chromium)])
    #expect(words(router.route(query("http://example.com/"))) == ["notes association", "\(chromium) otherBrowser"])
    #expect(!router.mayReachPage(query("http://example.com/")))
    for url in [
      "https://example.com/", "http://localhost:80/", "http://a.localhost/", "http://127.0.0.1:1/", "http://[::1]/",
    ] {
      #expect(router.mayReachPage(query(url)), "\(url)")
    }
    for url in ["http://notlocalhost/", "http://localhost.example.com/", "http://10.0.0.1/"] {
      #expect(!router.mayReachPage(query(url)), "\(url)")
    }
  }

  @Test func `a page that names a public type reaches no program but the app of its site (R12.7, R13.1)`() throws {
    let editing = "SegueActivityTypeEditingText"
    let editor = AppIdentity(
      secret: Identifier(high: 3, low: 1), bundleIdentifier: "editor", name: "Editor", team: "OTHER", types: [editing],
      isChooser: false)
    func route(by bundle: String, team: String) -> [String] {
      let query = RoutingQuery(
        type: editing, team: team, bundleIdentifier: bundle, webOrigin: WebOrigin.of("https://example.com/"),
        isPublic: true)
      return words(router([], running: [editor]).route(query))
    }
    #expect(route(by: firefox, team: browsers) == [])
    #expect(route(by: "com.example.other", team: "TEAM") == ["editor app"], "the control")
  }

  @Test func `only browsers speak for pages (R12.7, W1)`() throws {
    let router = router([try app("notes", types: [note])])
    #expect(words(router.route(query())) == ["notes siteApp"])
    // Another app of that team, and a browser's name of another team.
    for (bundle, team) in [("com.example.other", browsers), (firefox, "OTHER")] {
      let query = query(by: bundle, team: team)
      #expect(words(router.route(query)) == ["notes association"])
      #expect(!router.mayReachPage(query))
    }
  }

  @Test func `what an app offers reaches a page of its site alone, if each lists the other (R12.7)`() throws {
    let apps = [try app("notes", types: [note]), try app("reader", claims: [])]
    func reaches(
      _ url: String = "https://example.com/", by bundle: String = "notes", team: String = "TEAM",
      type: String? = nil, listing: [String] = ["TEAM.notes"]
    ) -> Bool {
      router(apps, listing: listing).mayReachPage(query(url, type: type, by: bundle, team: team))
    }
    #expect(reaches())
    #expect(!reaches("https://other.test/") && !reaches("http://example.com/") && !reaches("https://example.com:1/"))
    #expect(!reaches(by: "reader") && !reaches(by: "unknown") && !reaches(team: "OTHER"))
    #expect(!reaches(type: "com.example.other") && !reaches(type: browsing))
    #expect(!reaches(listing: []) && !reaches(listing: ["TEAM.reader"]))
    let silent = router([try app("notes", types: [note], claims: []), try app("reader")])
    #expect(!silent.mayReachPage(query(by: "notes", team: "TEAM")), "another app claims the page")
  }

  @Test func `an app's activity goes to another browser only if the user says so (R12.7, R12.3)`() throws {
    let router = router([], running: [host(firefox), host(chromium)], browser: "firefox")
    let query = query(by: "notes", team: "TEAM")
    #expect(words(router.route(query)) == ["\(firefox) browser", "\(chromium) otherBrowser"])
    // A program of that name is no extension.
    let liar = self.router([], running: [host(chromium, team: "OTHER")], browser: "firefox")
    #expect(words(liar.route(query)) == ["firefox urlHandler"])
  }
}
