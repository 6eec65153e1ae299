// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel

/// The programs of a device of a fleet.
struct DevicePrograms {
  private struct Program {
    let declaration: AppDeclaration
    let start: () -> Void
  }

  /// The apps that are installed.
  private var apps: [Program] = []
  /// The programs as agents know them: the apps, and what the owner of the device adds.
  var installed = InstalledApps()
  /// The pages with which browsers were started, in their order.
  var pages: [(url: String, browser: String)] = []
  /// The documents with which openers were started, in their order.
  var documents: [(document: OpenedDocument, opener: String)] = []

  /// Installs an app, in place of the one with its identifier.
  /// - Parameter start: opens the app.
  mutating func install(_ declaration: AppDeclaration, _ start: @escaping () -> Void) {
    apps.removeAll { Text.isSame($0.declaration.bundleIdentifier, declaration.bundleIdentifier) }
    apps.append(Program(declaration: declaration, start: start))
    renewCatalogue()
  }

  /// Uninstalls an app.
  mutating func uninstall(_ bundleIdentifier: String) {
    apps.removeAll { Text.isSame($0.declaration.bundleIdentifier, bundleIdentifier) }
    renewCatalogue()
  }

  private mutating func renewCatalogue() {
    installed.catalogue = Catalogue(apps.map { (path: $0.declaration.path, result: .success($0.declaration)) })
  }

  /// Returns the start of an app; nil if it is not installed.
  func start(of bundleIdentifier: String) -> (() -> Void)? {
    apps.first { Text.isSame($0.declaration.bundleIdentifier, bundleIdentifier) }?.start
  }
}
