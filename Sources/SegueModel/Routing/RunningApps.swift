// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The apps that are open on this device. One bundle identifier may have several.
public struct RunningApps: Sendable {
  private var byBundle: [TextKey: [AppIdentity]] = [:]
  private var byType: [TextKey: [AppIdentity]] = [:]

  public init(_ apps: [AppIdentity] = []) {
    for app in apps {
      byBundle[TextKey(app.bundleIdentifier), default: []].append(app)
      for type in app.types { byType[TextKey(type), default: []].append(app) }
    }
  }

  func apps(of bundleIdentifier: String) -> [AppIdentity] { byBundle[TextKey(bundleIdentifier)] ?? [] }

  func apps(declaring type: String) -> [AppIdentity] { byType[TextKey(type)] ?? [] }
}
