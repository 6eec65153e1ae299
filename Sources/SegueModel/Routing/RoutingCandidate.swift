// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// An app that might continue an activity here, with what speaks for it and against it (R6.5). An object, because
/// candidates are sorted.
public final class RoutingCandidate: Sendable {
  /// The way in which it continues the activity (R12.2).
  public enum Role: Sendable {
    /// An app that declares the type.
    case app
    /// An app that is associated with the site of the page, and gets the page alone.
    case association
    /// An app that is associated with the site of the page, and declares the type of the page's own activity (R12.7).
    case siteApp
    /// The user's browser, which takes part in Handoff: an extension of it, or the browser itself.
    case browser
    /// The user's browser, which is started with the page.
    case urlHandler
    /// Another browser, whose extension is connected.
    case otherBrowser
    /// A program that is started with the file (R13.7).
    case opener
    /// The desktop's default application for the kind of file, which is started with it (R13.7).
    case defaultApplication
  }

  /// A reason for an app, the strongest last (R6.2, R13.1).
  public enum Preference: Sendable, Equatable, Comparable {
    case none
    /// Higher if it was used more recently.
    case used(UInt64)
    /// It is the desktop's default for the content type of a public activity.
    case desktopDefault
    /// It is of the team of a public activity, for which teams are no condition. Higher if it was used more recently.
    case sameTeam(UInt64)
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
    /// The site of the page does not list it, or has not been asked (R12.8).
    case site(SiteObstacle)
  }

  public let bundleIdentifier: String
  /// For people.
  public let name: String
  /// Nil: no manifest describes it.
  public let declaration: AppDeclaration?
  /// Whether it is open on this device, if only as the origin.
  public let isRunning: Bool
  public let role: Role
  public let preference: Preference
  /// None: it can continue the activity.
  public let obstacles: [Obstacle]
  /// Whether it may continue the activity because that is public, and although it is of another team (R13.1).
  public let isByPublicType: Bool

  init(
    _ bundleIdentifier: String, name: String, _ declaration: AppDeclaration?, isRunning: Bool,
    as role: Role = .app, _ preference: Preference, _ obstacles: [Obstacle], isByPublicType: Bool = false
  ) {
    self.bundleIdentifier = bundleIdentifier
    self.name = name
    self.declaration = declaration
    self.isRunning = isRunning
    self.role = role
    self.preference = preference
    self.obstacles = obstacles
    self.isByPublicType = isByPublicType
  }

  public var isEligible: Bool { obstacles.isEmpty }
}
