// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The catalogue of all manifests (R6.1).
@Suite struct CatalogueTests {
  private func app(_ bundle: String, _ path: String, types: [String] = []) -> AppDeclaration {
    AppDeclaration(
      path: path, bundleIdentifier: bundle, types: types, launch: .command(LaunchCommand(arguments: ["app"])))
  }

  @Test func `of several files for one app the first counts, and each is listed (R6.1)`() {
    let (mine, theirs) = (app("a", "/home/a", types: ["mine"]), app("a", "/usr/a", types: ["theirs"]))
    let catalogue = Catalogue([
      (path: "/home/a", result: .success(mine)), (path: "/usr/a", result: .success(theirs)),
    ])
    #expect(catalogue["a"] === mine)
    #expect(catalogue.apps.count == 1)
    #expect(catalogue.apps(declaring: "theirs").isEmpty)
    #expect(catalogue.apps(declaring: "mine").first === mine)
    #expect(catalogue.apps(ofTeam: "a").count == 1)
    #expect(catalogue.entries.map { $0.path } == ["/home/a", "/usr/a"])
    guard case .shadowed(let app, let by) = catalogue.entries[1].state else {
      Issue.record("not shadowed")
      return
    }
    #expect(app === theirs)
    #expect(by == "/home/a")
  }

  @Test func `a broken file hides no other, not even one for the same app (R6.1)`() {
    let error = SegueError(.malformed, "what is wrong")
    let catalogue = Catalogue([
      (path: "/home/a", result: .failure(error)), (path: "/usr/a", result: .success(app("a", "/usr/a"))),
    ])
    #expect(catalogue["a"]?.path == "/usr/a")
    guard case .broken(let found) = catalogue.entries[0].state else {
      Issue.record("not broken")
      return
    }
    #expect(found == error)
  }

  @Test func `a type that documents name counts as declared, once (R5.1)`() {
    let app = AppDeclaration(
      path: "/a", bundleIdentifier: "a", types: ["note", "note"],
      documentTypes: [
        DocumentType(name: nil, contentTypes: ["text/plain"], role: .editor, activityType: "document"),
        DocumentType(name: nil, contentTypes: ["text/html"], role: .viewer, activityType: "document"),
        DocumentType(name: nil, contentTypes: ["text/csv"], role: .viewer, activityType: nil),
      ], launch: .impossible(SegueError(.notFound, "none")))
    #expect(app.types == ["note", "document"])
    #expect(app.declares("document"))
    #expect(Catalogue([(path: "/a", result: .success(app))]).apps(declaring: "note").count == 1)
  }
}
