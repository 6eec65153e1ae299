// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// Programs that open files where no app continues the activity (R13.7).
@Suite struct OpenerRouterTests {
  private let editing = "SegueActivityTypeEditingText"

  private func router(
    _ openers: [String] = ["kate", "gvim"], apps: [String] = [], choice: String? = nil,
    defaults: [(contentType: String, desktopFile: String)] = [("text/plain", "paint.desktop")]
  ) -> Router {
    let declarations = apps.map { bundle in
      AppDeclaration(
        path: "/apps/\(bundle).plist", bundleIdentifier: bundle, team: "TEAM", types: [editing],
        launch: .command(LaunchCommand(arguments: ["app"])))
    }
    return Router(
      catalogue: Catalogue(declarations.map { (path: $0.path, result: .success($0)) }),
      preferences: RoutingPreferences(choices: choice.map { [(type: editing, app: $0)] } ?? []),
      defaults: DefaultPrograms(defaults),
      openers: Openers(
        openers.map { Opener(file: $0, name: "name of \($0)", types: [editing]) } + [Opener.defaultApplication]))
  }

  private func words(
    _ router: Router, type: String? = nil, team: String = "TEAM", of origin: String = "origin", version: UInt32 = 0,
    isPublic: Bool = true, contentType: String? = nil
  ) -> [String] {
    let query = RoutingQuery(
      type: type ?? editing, team: team, bundleIdentifier: origin, payloadVersion: version, isPublic: isPublic,
      contentType: contentType)
    return router.route(query).candidates.filter { $0.isEligible }.map { "\($0.bundleIdentifier) \($0.role)" }
  }

  @Test func `an app comes before openers, and these before the default application (R13.7)`() {
    #expect(
      words(router(apps: ["org.example.editor"])) == [
        "org.example.editor app", "opener:gvim opener", "opener:kate opener", "opener: defaultApplication",
      ])
    #expect(words(router([])) == ["opener: defaultApplication"])
    #expect(words(router([], defaults: [])).isEmpty)
  }

  @Test(arguments: ["opener:kate", "opener:"])
  func `the opener that the user has chosen comes before apps (R13.7)`(choice: String) {
    let first = words(router(apps: ["org.example.editor"], choice: choice)).first
    #expect(first == "\(choice) \(choice == "opener:" ? "defaultApplication" : "opener")")
  }

  @Test(arguments: ["opener:kate", "opener:gone"])
  func `an opener that was chosen is one candidate, and one that is gone is named (R6.5, R13.7)`(choice: String) {
    let query = RoutingQuery(type: editing, team: "TEAM", bundleIdentifier: "origin", isPublic: true)
    let found = router(choice: choice).route(query).candidates.filter { $0.bundleIdentifier == choice }
    #expect(found.map { $0.isEligible } == [choice == "opener:kate"])
  }

  @Test func `the program of the origin comes first, then the desktop's default (R13.1, R13.7)`() {
    #expect(words(router(["gvim", "kate"]), of: "kate").first == "opener:kate opener")
    let defaults = [(contentType: "text/plain", desktopFile: "kate.desktop")]
    #expect(words(router(["gvim", "kate"], defaults: defaults)).first == "opener:kate opener")
  }

  @Test func `an app and the opener of its program are two (R13.7)`() {
    #expect(words(router(["kate"], apps: ["kate"], defaults: [])) == ["kate app", "opener:kate opener"])
    #expect(
      words(router(["kate"], apps: ["kate"], choice: "kate", defaults: [])) == ["kate app", "opener:kate opener"])
  }

  @Test func `an opener is for its types alone, of any team, and for no newer payload (R13.3, R13.7)`() {
    #expect(words(router(), type: "com.example.note").isEmpty)
    #expect(words(router(), type: "SegueActivityTypePlayingMedia").isEmpty)
    #expect(words(router(defaults: []), team: "OTHER") == ["opener:gvim opener", "opener:kate opener"])
    #expect(words(router(), version: 1).count == 3 && words(router(), version: 2).isEmpty)
  }

  @Test(arguments: [
    ("SegueActivityTypePlayingMedia", "video/mp4", true), ("SegueActivityTypePlayingMedia", "application/x-msi", false),
    ("SegueActivityTypeReadingDocument", "application/pdf", true),
    ("SegueActivityTypeReadingDocument", "application/x-shellscript", false),
    ("SegueActivityTypeReadingDocument", "application/x-java-archive", false),
  ]) func `the origin does not choose a program that executes files (R13.7, A28)`(
    type: String, said: String, opens: Bool
  ) {
    let router = router([], defaults: [(contentType: said, desktopFile: "any.desktop")])
    #expect(words(router, type: type, contentType: said).isEmpty == !opens)
    #expect(words(router, contentType: said).isEmpty, "a text is opened as a text")
  }

  @Test func `an activity that its origin keeps to its team is opened by no program (R13.1, R13.7)`() {
    #expect(words(router(apps: ["org.example.editor"]), isPublic: false) == ["org.example.editor app"])
    #expect(words(router(), isPublic: false).isEmpty)
  }
}
