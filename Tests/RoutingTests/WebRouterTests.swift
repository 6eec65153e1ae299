// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The choice of what continues a web page (R12.2), and the reasons against it (R6.5).
@Suite struct WebRouterTests {
  private let note = "com.example.note"
  private let browsing = "NSUserActivityTypeBrowsingWeb"

  private func app(
    _ bundle: String, team: String? = "TEAM", types: [String] = [], claims: [String] = [], desktop: String? = nil,
    launch: AppLaunch = .command(LaunchCommand(arguments: ["app"]))
  ) throws -> AppDeclaration {
    AppDeclaration(
      path: "/apps/\(bundle).plist", bundleIdentifier: bundle, team: team, types: types,
      domains: try claims.compactMap { try AssociatedDomain.read("activitycontinuation:\($0)") }, desktopFile: desktop,
      launch: launch)
  }

  private func process(_ number: UInt64, _ bundle: String, types: [String]) -> AppIdentity {
    AppIdentity(
      secret: Identifier(high: 1, low: number), bundleIdentifier: bundle, name: "name of \(bundle)", team: "OTHER",
      types: types, isChooser: false)
  }

  private func query(
    _ type: String? = nil, _ url: String? = "https://example.com/a", by bundle: String = "origin",
    origin: Identifier? = nil
  ) -> RoutingQuery {
    RoutingQuery(
      type: type ?? note, team: "TEAM", bundleIdentifier: bundle, origin: origin, webOrigin: WebOrigin.of(url))
  }

  private func router(
    _ apps: [AppDeclaration], running: [AppIdentity] = [], browser: String? = "firefox",
    sites: [String: SiteStatus] = [:]
  ) -> Router {
    Router(
      catalogue: Catalogue(apps.map { (path: $0.path, result: .success($0)) }), running: RunningApps(running),
      browsers: Browsers(
        [
          Browser(identifier: "chromium", name: "Chromium"), Browser(identifier: "firefox", name: "Firefox"),
          Browser(identifier: "broken", name: "Broken", problem: SegueError(.malformed, "no Exec")),
        ], default: { _ in browser }),
      sites: SiteStatuses(sites.map { ($0.key, $0.value) }))
  }

  private func listing(_ apps: String...) -> SiteStatus { SiteStatus(answer: .apps(apps), checkedAt: 1) }

  /// The eligible candidates with their roles, in order.
  private func words(_ decision: RoutingDecision) -> [String] {
    decision.candidates.filter { $0.isEligible }.map { "\($0.bundleIdentifier) \($0.role)" }
  }

  private func obstacle(_ decision: RoutingDecision, of bundle: String) -> String? {
    decision.candidates.first { $0.bundleIdentifier == bundle }?.obstacles.first.map { "\($0)" }
  }

  private func notes(_ decision: RoutingDecision) -> [String] { decision.notes.map { "\($0)" } }

  @Test func `an app by its type, then the site's app, then the browser (R12.2, R6.3)`() throws {
    let apps = [try app("typed", types: [note]), try app("sites", team: "OTHER", claims: ["example.com"])]
    let router = router(apps, sites: ["example.com": listing("OTHER.sites")])
    #expect(words(router.route(query())) == ["typed app", "sites association", "firefox urlHandler"])
    #expect(words(router.route(query(note, "https://example.org/"))) == ["typed app", "firefox urlHandler"])
    #expect(words(router.route(query(note, nil))) == ["typed app"])
    #expect(words(self.router([]).route(query())) == ["firefox urlHandler"])
  }

  @Test func `for a page the site's app comes first, then the browser, then others (R12.2)`() throws {
    let apps = [try app("reader", types: [browsing]), try app("sites", claims: ["example.com"])]
    let router = router(apps, sites: ["example.com": listing("TEAM.sites")])
    #expect(words(router.route(query(browsing))) == ["sites association", "firefox urlHandler", "reader app"])
    #expect(words(router.route(query(browsing, "https://other.org"))) == ["firefox urlHandler", "reader app"])
    #expect(words(self.router(apps, browser: nil).route(query(browsing, "https://other.org"))) == ["reader app"])
  }

  @Test func `a browser that takes part in Handoff gets the page, never its program besides (R12.2, R12.3)`() throws {
    let host = process(1, "firefox", types: [browsing])
    #expect(words(router([], running: [host]).route(query())) == ["firefox browser"])
    // The native host of a browser has the identifier of AppStream.
    let native = process(1, "org.mozilla.firefox", types: [browsing])
    #expect(words(router([], running: [native]).route(query())) == ["org.mozilla.firefox browser"])
    // Another program of that name is no extension.
    #expect(words(router([], running: [process(1, "firefox", types: [])]).route(query())) == ["firefox urlHandler"])
    // A browser may have a manifest of its own, by which it is started.
    let web = try app("org.example.Web", team: nil, types: [browsing], desktop: "firefox.desktop")
    #expect(words(router([web]).route(query())) == ["org.example.Web browser"])
    let silent = try app("org.example.Web", team: nil, types: [], desktop: "firefox.desktop")
    #expect(words(router([silent]).route(query())) == ["firefox urlHandler"])
  }

  @Test func `the user's choice comes before the desktop's default (R12.3)`() {
    var router = router([], running: [process(1, "firefox", types: [browsing])])
    router.preferences.choose("chromium", for: browsing)
    #expect(words(router.route(query())) == ["chromium urlHandler"])
    #expect(router.route(query()).chosen?.preference == .chosen)
    router.preferences.choose("removed", for: browsing)
    #expect(words(router.route(query(note))) == ["firefox browser"])
    router.preferences.choose("broken", for: browsing)
    #expect(words(router.route(query())) == [])
    #expect(obstacle(router.route(query()), of: "broken")?.hasPrefix("noLaunchCommand") == true)
  }

  @Test func `a browser is not asked to continue its own tab, another profile of it is (R2.6)`() {
    let origin = process(1, "firefox", types: [browsing])
    let query = query(browsing, by: "firefox", origin: origin.id)
    #expect(words(router([], running: [origin]).route(query)) == [])
    #expect(obstacle(router([], running: [origin]).route(query), of: "firefox") == "isOrigin")
    let other = process(2, "firefox", types: [browsing])
    #expect(words(router([], running: [origin, other]).route(query)) == ["firefox browser"])
  }

  @Test func `an app that only claims a site is none of its apps: both list each other (R12.8, W3)`() throws {
    let apps = [try app("a", claims: ["example.com"])]
    func reason(_ status: SiteStatus?, _ url: String = "https://example.com/") -> String? {
      let router = router(apps, sites: status.map { ["example.com": $0] } ?? [:])
      #expect(words(router.route(query(browsing, url))) == ["firefox urlHandler"])
      return obstacle(router.route(query(browsing, url)), of: "a")
    }
    #expect(reason(nil) == "site(SegueModel.SiteObstacle.notAsked)")
    #expect(reason(listing("TEAM.b", "OTHER.a", "team.a"))?.contains("notListed(1.0)") == true)
    #expect(reason(SiteStatus(answer: .onlyAppLinks, checkedAt: 2))?.contains("onlyAppLinks(2.0)") == true)
    #expect(reason(SiteStatus(answer: .html, checkedAt: 3))?.contains("html(3.0)") == true)
    #expect(reason(SiteStatus(answer: .nothing("404"), checkedAt: 4))?.contains("nothing(\"404\", 4.0)") == true)
    let lost = SiteStatus(answer: nil, unreachable: (since: 5, reason: "no route"))
    #expect(reason(lost)?.contains("unreachable(5.0, \"no route\")") == true)
    for url in ["https://notexample.com/", "https://example.com.evil.test/", "https://example.com:8443/"] {
      #expect(reason(listing("TEAM.a"), url) == nil)
    }
  }

  @Test func `what the site has answered counts as long as it is kept (R12.9)`() throws {
    let lost = SiteStatus(answer: .apps(["TEAM.a"]), checkedAt: 1, unreachable: (since: 2, reason: "no route"))
    let router = router([try app("a", claims: ["example.com"])], sites: ["example.com": lost])
    #expect(words(router.route(query(browsing))) == ["a association", "firefox urlHandler"])
  }

  @Test func `the site of a wildcard is asked, and the claim on the host itself counts before (R12.8)`() throws {
    let apps = [
      try app("a", claims: ["*.example.com", "www.example.com"]), try app("b", claims: ["*.example.com"]),
    ]
    let router = router(apps, sites: ["example.com": listing("TEAM.a", "TEAM.b"), "www.example.com": listing()])
    let page = query(browsing, "https://www.example.com/")
    #expect(words(router.route(page)) == ["b association", "firefox urlHandler"])
    #expect(obstacle(router.route(page), of: "a")?.contains("notListed") == true)
    #expect(
      words(router.route(query(browsing, "https://x.example.com/")))
        == ["a association", "b association", "firefox urlHandler"])
  }

  @Test func `an app that the site lists, and that can neither run nor be started, is none`() throws {
    let broken = try app("a", claims: ["example.com"], launch: .impossible(SegueError(.notFound, "no program")))
    let router = router([broken], sites: ["example.com": listing("TEAM.a")])
    #expect(words(router.route(query(browsing))) == ["firefox urlHandler"])
    #expect(obstacle(router.route(query(browsing)), of: "a")?.hasPrefix("noLaunchCommand") == true)
    let origin = process(1, "a", types: [])
    var running = router
    running.running = RunningApps([origin])
    #expect(obstacle(running.route(query(browsing, origin: origin.id)), of: "a") == "isOrigin")
    #expect(words(running.route(query(browsing))).first == "a association")
  }

  @Test func `an explanation says what concerns the page and no app (R6.5, R12.2)`() throws {
    let router = router([try app("typed", types: [note])])
    #expect(notes(router.explain(query(note, nil))) == [])
    #expect(notes(router.explain(query("other", nil))) == ["noPage"])
    #expect(notes(router.explain(query(browsing, nil))) == ["noPage"])
    #expect(notes(router.explain(query())) == ["notClaimed(\"example.com\")", "noExtension(\"Firefox\")"])
    #expect(
      notes(self.router([], browser: nil).explain(query())) == ["notClaimed(\"example.com\")", "noBrowser"])
    let host = process(1, "firefox", types: [browsing])
    let claimed = self.router([try app("a", claims: ["example.com"])], running: [host])
    #expect(notes(claimed.explain(query())) == [])
    let candidates = claimed.explain(query()).candidates.map { $0.bundleIdentifier }
    #expect(candidates.count == Set(candidates).count, "each app once")
  }
}
