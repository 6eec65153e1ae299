// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// An app that might continue an activity here, with what speaks for it and against it (R6.5). An object, because
/// candidates are sorted.
public final class RoutingCandidate: Sendable {
  /// A reason for an app, the strongest last (R6.2).
  public enum Preference: Sendable, Equatable, Comparable {
    case none
    /// Higher if it was used more recently.
    case used(UInt64)
    /// The user chose it for the type.
    case chosen
    case sameBundle
  }

  /// A reason against an app: with any of these it is not chosen.
  public enum Obstacle: Sendable {
    /// It is the origin, and no other process of it runs.
    case isOrigin
    case teamDiffers
    case typeNotDeclared
    /// It takes other payload versions, namely these (R3.7).
    case versionDeclined([UInt32])
    /// It does not run, and no manifest describes it.
    case noManifest
    /// It does not run, and cannot be started, because of this.
    case noLaunchCommand(SegueError)
  }

  public let bundleIdentifier: String
  /// For people.
  public let name: String
  /// Nil: no manifest describes it.
  public let declaration: AppDeclaration?
  /// Whether it is open on this device, if only as the origin.
  public let isRunning: Bool
  public let preference: Preference
  /// None: it can continue the activity.
  public let obstacles: [Obstacle]

  init(
    _ bundleIdentifier: String, name: String, _ declaration: AppDeclaration?, isRunning: Bool,
    _ preference: Preference, _ obstacles: [Obstacle]
  ) {
    self.bundleIdentifier = bundleIdentifier
    self.name = name
    self.declaration = declaration
    self.isRunning = isRunning
    self.preference = preference
    self.obstacles = obstacles
  }

  public var isEligible: Bool { obstacles.isEmpty }
}
