// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

@testable import SegueManifests

/// Checks the bounds of what a manifest says, whatever the bytes of its file.
func checkContents(_ contents: ManifestContents) {
  let launch = AppLaunch.impossible(SegueError(.notFound, "none"))
  guard let app = try? contents.declaration(path: "/a", launch) else { return }
  for name in [app.bundleIdentifier, app.team, app.name] + (app.version.map { [$0] } ?? []) + app.types {
    require((1...Limits.identifier).contains(name.utf8.count), "a name that is too long, or empty")
    require(!name.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "a name with control characters")
  }
  require(app.types.count <= Limits.typesPerApp, "too many types")
  require(
    app.domains.allSatisfy { !$0.host.utf8.isEmpty && $0.text.utf8.count <= 255 }, "a host that is too long, or empty")
  for (one, next) in zip(app.payloadVersions ?? [], (app.payloadVersions ?? []).dropFirst()) {
    require(one < next, "versions are not ascending")
  }
  // The catalogue finds what is declared.
  let catalogue = Catalogue([(path: app.path, result: .success(app))])
  require(catalogue[app.bundleIdentifier] === app, "the app is not found")
  require(app.types.allSatisfy { catalogue.apps(declaring: $0).count == 1 }, "a type is not found")
}
