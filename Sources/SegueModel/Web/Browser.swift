// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A program that opens web pages, by its `.desktop` file (R12.3).
public struct Browser: Sendable {
  /// The desktop id without its ending: `firefox-esr`. The app by which the browser takes part in Handoff is its native
  /// host, or has this as its bundle identifier, or a manifest that names the desktop id.
  public let identifier: String
  /// For people.
  public let name: String
  /// Nil: it can be started with a page; otherwise the reason against it.
  public let problem: SegueError?

  public init(identifier: String, name: String, problem: SegueError? = nil) {
    self.identifier = identifier
    self.name = name
    self.problem = problem
  }

  /// The desktop id.
  public var desktopFile: String { String(joining: "\(identifier).desktop") }

  /// The team of all native hosts (browser/host/identity.h), so that each continues the pages of the others.
  static var team: String { "local.segue.Segue.browsers" }

  /// Whether an app is the native host of a browser.
  public static func isHost(_ bundleIdentifier: String, ofTeam team: String) -> Bool {
    Text.isSame(team, self.team) && isHost(bundleIdentifier)
  }

  /// Whether an app has the name of such a host, of whatever team.
  public static func isHost(_ bundleIdentifier: String) -> Bool {
    hosts.contains { Text.isSame($0.host, bundleIdentifier) }
  }

  /// The bundle identifier of its native host (browser/host/browsers.c); nil: it has none that is known.
  var host: String? {
    Self.hosts.first { $0.browsers.contains { Text.isSame(identifier, $0) } }?.host
  }

  /// The bundle identifiers of native hosts, which are those of AppStream, and the desktop ids of their browsers.
  private static let hosts: [(host: String, browsers: [String])] = [
    ("org.mozilla.firefox", ["firefox", "firefox-esr", "org.mozilla.firefox"]),
    ("io.gitlab.librewolf-community", ["librewolf", "io.gitlab.librewolf-community"]),
    ("org.chromium.Chromium", ["chromium", "chromium-browser", "org.chromium.Chromium"]),
    ("com.google.Chrome", ["google-chrome", "com.google.Chrome"]),
    ("com.brave.Browser", ["brave-browser", "com.brave.Browser"]),
    ("com.microsoft.Edge", ["microsoft-edge", "com.microsoft.Edge"]),
    ("com.vivaldi.Vivaldi", ["vivaldi-stable", "com.vivaldi.Vivaldi"]),
  ]
}

/// The browsers of this device, and the user's default. Immutable: a change of the files makes another.
public final class Browsers: Sendable {
  public let all: [Browser]
  private let httpDefault: Browser?
  private let httpsDefault: Browser?

  /// - Parameter default: the identifier of the desktop's default, of those in `all`; nil: there is none.
  public init(_ all: [Browser] = [], default of: (WebOrigin.Scheme) -> String? = { _ in nil }) {
    self.all = all
    func browser(_ scheme: WebOrigin.Scheme) -> Browser? {
      of(scheme).flatMap { identifier in all.first { Text.isSame($0.identifier, identifier) } }
    }
    httpDefault = browser(.http)
    httpsDefault = browser(.https)
  }

  public subscript(identifier: String) -> Browser? { all.first { Text.isSame($0.identifier, identifier) } }

  /// The browser for pages of a scheme: the one that the user has chosen, else the desktop's default.
  /// - Parameter choice: an identifier.
  public func browser(for scheme: WebOrigin.Scheme, chosen choice: String?) -> Browser? {
    if let choice, let chosen = self[choice] { return chosen }
    return switch scheme {
    case .http: httpDefault
    case .https: httpsDefault
    }
  }
}
