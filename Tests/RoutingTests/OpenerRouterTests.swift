// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// Programs that open files where no app continues the activity (R13.7).
@Suite struct OpenerRouterTests {
  private let editing = "SegueActivityTypeEditingText"

  private func router(
    _ openers: [String] = ["kate", "gvim"], apps: [String] = [], choice: String? = nil, hasDefault: Bool = true
  ) -> Router {
    let declarations = apps.map { bundle in
      AppDeclaration(
        path: "/apps/\(bundle).plist", bundleIdentifier: bundle, team: "TEAM", types: [editing],
        launch: .command(LaunchCommand(arguments: ["app"])))
    }
    return Router(
      catalogue: Catalogue(declarations.map { (path: $0.path, result: .success($0)) }),
      preferences: RoutingPreferences(choices: choice.map { [(type: editing, app: $0)] } ?? []),
      openers: Openers(
        openers.map { Opener(identifier: $0, name: "name of \($0)", types: [editing]) }
          + (hasDefault ? [Opener.defaultApplication] : [])))
  }

  private func words(
    _ router: Router, type: String? = nil, team: String = "TEAM", version: UInt32 = 0, isPublic: Bool = true
  ) -> [String] {
    let query = RoutingQuery(
      type: type ?? editing, team: team, bundleIdentifier: "origin", payloadVersion: version, isPublic: isPublic)
    return router.route(query).candidates.filter { $0.isEligible }.map { "\($0.bundleIdentifier) \($0.role)" }
  }

  @Test func `an app comes before openers, and these before the default application (R13.7)`() {
    #expect(
      words(router(apps: ["org.example.editor"])) == [
        "org.example.editor app", "gvim opener", "kate opener", "default-application defaultApplication",
      ])
    #expect(words(router([])) == ["default-application defaultApplication"])
    #expect(words(router([], hasDefault: false)).isEmpty)
  }

  @Test(arguments: ["kate", "default-application"])
  func `the opener that the user has chosen comes before apps (R13.7)`(choice: String) {
    let first = words(router(apps: ["org.example.editor"], choice: choice)).first
    #expect(first == "\(choice) \(choice == "kate" ? "opener" : "defaultApplication")")
  }

  @Test func `an app that has the identifier of an opener stays in its place (R13.7)`() {
    #expect(words(router(["kate"], apps: ["kate"], hasDefault: false)) == ["kate app"])
    #expect(words(router(["kate"], apps: ["kate"], choice: "kate", hasDefault: false)) == ["kate app"])
  }

  @Test func `an opener is for its types alone, of any team, and for no newer payload (R13.3, R13.7)`() {
    #expect(words(router(), type: "com.example.note").isEmpty)
    #expect(words(router(), type: "SegueActivityTypePlayingMedia") == ["default-application defaultApplication"])
    #expect(words(router(hasDefault: false), team: "OTHER") == ["gvim opener", "kate opener"])
    #expect(words(router(), version: 1).count == 3 && words(router(), version: 2).isEmpty)
  }

  @Test func `an activity that its origin keeps to its team is opened by no program (R13.1, R13.7)`() {
    #expect(words(router(apps: ["org.example.editor"]), isPublic: false) == ["org.example.editor app"])
    #expect(words(router(), isPublic: false).isEmpty)
  }
}
