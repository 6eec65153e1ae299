// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The choice of the app of a device that continues an activity (R6.2), and the obstacles of the others (R6.5).
@Suite struct RouterTests {
  private let type = "com.example.note"

  private func app(
    _ bundle: String, team: String? = "TEAM", types: [String] = ["com.example.note"], versions: [UInt32]? = nil,
    launch: AppLaunch = .command(LaunchCommand(arguments: ["app"])), path: String? = nil
  ) -> AppDeclaration {
    AppDeclaration(
      path: path ?? "/apps/\(bundle).plist", bundleIdentifier: bundle, team: team, types: types,
      payloadVersions: versions, launch: launch)
  }

  private func process(
    _ number: UInt64, _ bundle: String, team: String = "TEAM", types: [String] = ["com.example.note"]
  ) -> AppIdentity {
    AppIdentity(
      secret: Identifier(high: 1, low: number), bundleIdentifier: bundle, name: "name of \(bundle)", team: team,
      types: types, isChooser: false)
  }

  private func query(_ bundle: String = "origin", version: UInt32 = 0, origin: Identifier? = nil) -> RoutingQuery {
    RoutingQuery(type: type, team: "TEAM", bundleIdentifier: bundle, payloadVersion: version, origin: origin)
  }

  private func router(_ apps: [AppDeclaration], running: [AppIdentity] = []) -> Router {
    Router(
      catalogue: Catalogue(apps.map { (path: $0.path, result: .success($0)) }), running: RunningApps(running))
  }

  // MARK: Public activities

  private func publicQuery(
    _ bundle: String = "elsewhere", isPublic: Bool = true, contentType: String? = nil
  ) -> RoutingQuery {
    RoutingQuery(type: type, team: "TEAM", bundleIdentifier: bundle, isPublic: isPublic, contentType: contentType)
  }

  @Test func `the order for a public activity: bundle, choice, team, the desktop's default, use (R13.1)`() {
    let apps = [
      app("used", team: "A"), app("never", team: "B"), app("default", team: "C"), app("ours"), app("ours2"),
      app("chosen", team: "D"), app("origin", team: "E"), app("deaf", team: "F", types: []),
    ]
    var router = router(apps)
    router.preferences.markUsed("ours2")
    router.preferences.markUsed("used")
    router.preferences.choose("chosen", for: type)
    router.defaults = DefaultPrograms([("text/plain", "default.desktop"), ("text/plain", "never.desktop")])
    let decision = router.route(publicQuery("origin", contentType: "text/plain"))
    let eligible = decision.candidates.filter { $0.isEligible }
    #expect(
      eligible.map { $0.bundleIdentifier } == ["origin", "chosen", "ours2", "ours", "default", "used", "never"])
    #expect(eligible.map { $0.isByPublicType } == [true, true, false, false, true, true, true])
    #expect(obstacles(decision, of: "deaf") == nil, "it does not declare the type")
    router.preferences.choose("deaf", for: type)
    #expect(obstacles(router.route(publicQuery("origin")), of: "deaf") == "type")
  }

  @Test func `without a content type, or with another one, there is no default (R13.1)`() {
    var router = router([app("a", team: "A"), app("b", team: "B")])
    router.defaults = DefaultPrograms([("text/plain", "b.desktop")])
    #expect(names(router.route(publicQuery(contentType: "text/plain"))).first == "b")
    #expect(names(router.route(publicQuery(contentType: "text/html"))).first == "a")
    #expect(names(router.route(publicQuery())).first == "a")
  }

  @Test func `an app whose manifest names the default's launcher is the default (R13.1)`() {
    let launched = AppDeclaration(
      path: "/apps/org.example.Editor.plist", bundleIdentifier: "org.example.Editor", team: "C", types: [type],
      desktopFile: "vendor-editor.desktop", launch: .command(LaunchCommand(arguments: ["editor"])))
    var router = router([app("a", team: "A"), launched])
    router.defaults = DefaultPrograms([("text/plain", "vendor-editor.desktop")])
    #expect(router.route(publicQuery(contentType: "text/plain")).chosen?.preference == .desktopDefault)
    #expect(router.route(publicQuery(contentType: "text/plain")).chosen?.bundleIdentifier == "org.example.Editor")
  }

  @Test func `an activity that is not public is for its team alone, whatever the desktop's default (R6.2, R13.1)`() {
    var router = router([app("a", team: "A"), app("ours")], running: [process(1, "b", team: "B")])
    router.defaults = DefaultPrograms([("text/plain", "a.desktop")])
    let decision = router.route(publicQuery(isPublic: false, contentType: "text/plain"))
    #expect(decision.candidates.filter { $0.isEligible }.map { $0.bundleIdentifier } == ["ours"])
    #expect(decision.chosen?.preference == RoutingCandidate.Preference.none, "as before there were public ones")
    #expect(obstacles(decision, of: "b") == "team")
    let open = router.route(publicQuery())
    #expect(open.candidates.first { $0.bundleIdentifier == "b" }?.isEligible == true)
    #expect(open.chosen?.preference == .sameTeam(0))
  }

  @Test func `a further identifier of a program counts as the same bundle (R13.6)`() {
    func program(_ bundle: String, _ others: [String]) -> AppDeclaration {
      AppDeclaration(
        path: "/apps/\(bundle).plist", bundleIdentifier: bundle, alternativeIdentifiers: others, team: "TEAM",
        types: [type], launch: .command(LaunchCommand(arguments: ["app"])))
    }
    var router = router([program("a", []), program("org.example.Editor", ["editor", "old-editor"])])
    #expect(router.route(query("elsewhere")).chosen?.bundleIdentifier == "a")
    for origin in ["org.example.Editor", "editor", "old-editor"] {
      let chosen = router.route(query(origin)).chosen
      #expect(chosen?.bundleIdentifier == "org.example.Editor" && chosen?.preference == .sameBundle)
    }
    // The user's choice and the desktop's default may name the program so, too.
    router.preferences.choose("editor", for: type)
    #expect(router.route(query("elsewhere")).chosen?.preference == .chosen)
    router.preferences.choose(nil, for: type)
    router.defaults = DefaultPrograms([("text/plain", "old-editor.desktop")])
    let strangers = RoutingQuery(
      type: type, team: "OTHER", bundleIdentifier: "x", isPublic: true, contentType: "text/plain")
    #expect(router.route(strangers).chosen?.bundleIdentifier == "org.example.Editor")
    // A manifest of that identifier itself comes first.
    let both = self.router([program("a", ["b"]), program("b", [])])
    #expect(both.route(query("b")).candidates.map { $0.preference } == [.sameBundle, .none])
    #expect(both.route(query("b")).chosen?.bundleIdentifier == "b")
    // It gives no rights: another team stays another team.
    #expect(obstacles(self.router([app("a", team: "OTHER")]).route(query("b")), of: "a") == "team")
  }

  private func names(_ decision: RoutingDecision) -> [String] { decision.candidates.map { $0.bundleIdentifier } }

  private func obstacles(_ decision: RoutingDecision, of bundle: String) -> String? {
    guard let candidate = decision.candidates.first(where: { $0.bundleIdentifier == bundle }) else { return nil }
    return candidate.obstacles.map { obstacle in
      switch obstacle {
      case .isOrigin: "origin"
      case .teamDiffers: "team"
      case .typeNotDeclared: "type"
      case .versionDeclined(let versions): "version \(versions)"
      case .noManifest: "manifest"
      case .noLaunchCommand(let error): error.message
      case .site: "site"
      }
    }.joined(separator: ", ")
  }

  @Test func `the same bundle comes first, then the user's choice, then the most recently used (R6.2)`() {
    var router = router(["a", "b", "c", "d", "origin"].map { app($0) })
    #expect(names(router.route(query("elsewhere"))) == ["a", "b", "c", "d", "origin", "elsewhere"])
    router.preferences.markUsed("c")
    router.preferences.markUsed("d")
    #expect(names(router.route(query("elsewhere"))) == ["d", "c", "a", "b", "origin", "elsewhere"])
    router.preferences.markUsed("c")
    router.preferences.choose("b", for: type)
    router.preferences.choose("a", for: "com.example.other")
    #expect(names(router.route(query("elsewhere"))) == ["b", "c", "d", "a", "origin", "elsewhere"])
    #expect(names(router.route(query())) == ["origin", "b", "c", "d", "a"])
    #expect(router.route(query()).chosen?.bundleIdentifier == "origin")
    router.preferences.choose(nil, for: type)
    #expect(router.route(query("elsewhere")).chosen?.bundleIdentifier == "c")
  }

  @Test func `what the store remembers gives the same order (R6.2)`() {
    var router = router(["a", "b", "c"].map { app($0) })
    router.preferences = RoutingPreferences(choices: [(type: type, app: "c")], uses: ["b", "a"])
    #expect(names(router.route(query())) == ["c", "b", "a", "origin"])
  }

  @Test func `only an app of the team that declares the type is chosen, whatever the user prefers (R6.2, R6.5)`() {
    var router = router([
      app("a", team: "OTHER"), app("b", types: ["com.example.other"]), app("c"), app("d", team: nil),
    ])
    router.preferences.choose("b", for: type)
    router.preferences.markUsed("a")
    let decision = router.route(query("a"))
    #expect(names(decision) == ["c", "a", "b", "d"])
    #expect(decision.candidates.map { $0.isEligible } == [true, false, false, false])
    #expect(obstacles(decision, of: "a") == "team")
    #expect(obstacles(decision, of: "b") == "type")
    #expect(obstacles(decision, of: "d") == "team")
    #expect(obstacles(decision, of: "c") == "")
    #expect(self.router([app("a", team: "OTHER")]).route(query()).chosen == nil)
  }

  @Test func `an app that names no team is a team of its own (R6.2)`() {
    let router = router([app("a", team: nil)])
    let own = RoutingQuery(type: type, team: "a", bundleIdentifier: "a")
    #expect(router.route(own).chosen?.bundleIdentifier == "a")
    #expect(router.route(query("a")).chosen == nil)
  }

  @Test func `a payload version that the app does not take is declined (R3.7, R6.5)`() {
    let router = router([app("a", versions: [1, 2])])
    #expect(router.route(query(version: 1)).chosen != nil)
    #expect(obstacles(router.route(query(version: 3)), of: "a") == "version [1, 2]")
    #expect(self.router([app("a", versions: [])]).route(query()).chosen == nil)
    #expect(self.router([app("a")]).route(query(version: .max)).chosen != nil)
  }

  @Test func `an app that cannot be started is chosen only while it runs (R6.5)`() {
    let broken = app("a", launch: .impossible(SegueError(.notFound, "no such program")))
    #expect(obstacles(router([broken]).route(query()), of: "a") == "no such program")
    let decision = router([broken], running: [process(1, "a")]).route(query())
    #expect(decision.chosen?.bundleIdentifier == "a")
    #expect(decision.chosen?.isRunning == true)
  }

  @Test func `an app without a manifest is chosen while it runs, and else named as such (R6.1, R6.5)`() {
    var router = router([], running: [process(1, "a"), process(2, "a"), process(3, "b", team: "OTHER")])
    router.preferences.choose("gone", for: type)
    let decision = router.route(query())
    #expect(names(decision) == ["a", "origin", "gone", "b"])
    #expect(decision.chosen?.name == "name of a")
    #expect(decision.chosen?.declaration == nil)
    #expect(obstacles(decision, of: "origin") == "manifest")
    #expect(obstacles(decision, of: "gone") == "manifest")
    #expect(obstacles(decision, of: "b") == "team")
  }

  @Test func `what a process says of itself counts beside its manifest (R6.1)`() {
    let router = router([app("a", types: []), app("b")], running: [process(1, "a"), process(2, "b", types: [])])
    #expect(names(router.route(query())) == ["a", "b", "origin"])
    #expect(router.route(query()).candidates.map { $0.isEligible } == [true, true, false])
  }

  @Test func `an origin is not asked to continue its own activity, another process of it is (R2.6)`() {
    let origin = process(1, "a")
    let query = query("a", origin: origin.id)
    let alone = router([app("a")], running: [origin]).route(query)
    #expect(obstacles(alone, of: "a") == "origin")
    #expect(alone.candidates.first?.isRunning == true, "it runs, and cannot continue its own activity")
    let two = router([app("a")], running: [origin, process(2, "a")]).route(query)
    #expect(two.chosen?.bundleIdentifier == "a")
    #expect(two.chosen?.isRunning == true)
    #expect(router([app("a")]).route(query).chosen?.isRunning == false)
  }

  @Test func `of apps that are equally good the one that runs comes first`() {
    let router = router(["a", "b", "c"].map { app($0) }, running: [process(1, "c")])
    #expect(names(router.route(query())) == ["c", "a", "b", "origin"])
  }

  @Test func `an explanation is the decision, and then the team's apps that do not declare the type (R6.5)`() {
    var router = router([
      app("a"), app("b", types: []), app("c", team: "OTHER", types: []), app("d", types: ["x"]), app("e", types: []),
    ])
    router.preferences.markUsed("d")
    router.preferences.choose("e", for: type)
    #expect(names(router.route(query("b"))) == ["a", "b", "e"])
    let explanation = router.explain(query("b"))
    #expect(names(explanation) == ["a", "b", "e", "d"])
    #expect(obstacles(explanation, of: "d") == "type")
    #expect(explanation.chosen?.bundleIdentifier == "a")
  }

  @Test func `text is compared as bytes (R1.2)`() {
    let (composed, decomposed) = ("\u{e9}", "e\u{301}")
    let router = router([app("a", team: composed, types: [composed])])
    func chosen(_ type: String, _ team: String) -> Bool {
      router.route(RoutingQuery(type: type, team: team, bundleIdentifier: "x")).chosen != nil
    }
    #expect(chosen(composed, composed))
    #expect(!chosen(decomposed, composed))
    #expect(!chosen(composed, decomposed))
  }
}
