// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The identity of an app, as the app states it, for one open of the library. An object, for it is handed on often.
public final class AppIdentity: Sendable {
  /// Drawn at random when the app opens. It goes to hubs only: who says it is this app.
  public let secret: Identifier
  /// The identifier by which others know the app; it follows from the secret.
  public let id: Identifier
  public let bundleIdentifier: String
  public let name: String
  /// The Team ID; an app without one is a team of its own (R6.2).
  public let team: String
  /// The activity types that it can continue, in the order of their declaration.
  public let types: [String]
  /// Sees the offers of all of its user's apps (R2.6).
  public let isChooser: Bool
  /// Whether it runs in a sandbox, as the hub knows from the system: public offers of other teams are not for it
  /// (R13.8).
  public let isSandboxed: Bool

  public init(
    secret: Identifier, bundleIdentifier: String, name: String, team: String, types: [String], isChooser: Bool,
    isSandboxed: Bool = false
  ) {
    self.secret = secret
    id = Identifier(ofSecret: secret)
    self.bundleIdentifier = bundleIdentifier
    self.name = name
    self.team = team
    self.types = types
    self.isChooser = isChooser
    self.isSandboxed = isSandboxed
  }

  /// The same app in a sandbox.
  public var sandboxed: AppIdentity {
    AppIdentity(
      secret: secret, bundleIdentifier: bundleIdentifier, name: name, team: team, types: types, isChooser: isChooser,
      isSandboxed: true)
  }

  /// Another app, as far as it is known without its secret.
  public init(known id: Identifier, bundleIdentifier: String, name: String, team: String, types: [String]) {
    secret = Identifier(high: 0, low: 0)
    self.id = id
    self.bundleIdentifier = bundleIdentifier
    self.name = name
    self.team = team
    self.types = types
    isChooser = false
    isSandboxed = false
  }

  /// Whether both are processes of one app, as far as they say: the same bundle of the same team.
  public func isSameApp(as other: AppIdentity) -> Bool {
    Text.isSame(bundleIdentifier, other.bundleIdentifier) && Text.isSame(team, other.team)
  }

  public func declares(_ type: String) -> Bool {
    types.contains { Text.isSame($0, type) }
  }
}
