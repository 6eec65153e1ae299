// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// All apps that have a manifest, and what is wrong with manifests. Immutable: a change of the files makes another.
public final class Catalogue: Sendable {
  /// A file, in the order of precedence.
  public struct Entry: Sendable {
    /// Absolute.
    public let path: String
    public let state: State

    public init(path: String, state: State) {
      self.path = path
      self.state = state
    }
  }

  public enum State: Sendable {
    case declared(AppDeclaration)
    /// Another file, of higher precedence, describes the same app.
    case shadowed(AppDeclaration, by: String)
    /// The file declares nothing; the error names file and key, and what was expected.
    case broken(SegueError)
  }

  /// All files, those of higher precedence first.
  public let entries: [Entry]
  private let declarations: [AppDeclaration]
  private let byBundle: [TextKey: AppDeclaration]
  private let byType: [TextKey: [AppDeclaration]]
  private let byTeam: [TextKey: [AppDeclaration]]
  private let byHost: [TextKey: [Claim]]
  private let byDesktopFile: [TextKey: [AppDeclaration]]
  private let byAlternative: [TextKey: AppDeclaration]

  /// A claim of an app on a site.
  public struct Claim: Sendable {
    public let app: AppDeclaration
    public let domain: AssociatedDomain
  }

  /// The first of several files for the same app counts (R6.1).
  /// - Parameter manifests: what was read, those of higher precedence first.
  public init(_ manifests: [(path: String, result: Result<AppDeclaration, SegueError>)]) {
    var entries: [Entry] = []
    var declarations: [AppDeclaration] = []
    var byBundle: [TextKey: AppDeclaration] = [:]
    var byType: [TextKey: [AppDeclaration]] = [:]
    var byTeam: [TextKey: [AppDeclaration]] = [:]
    var byHost: [TextKey: [Claim]] = [:]
    var byDesktopFile: [TextKey: [AppDeclaration]] = [:]
    var byAlternative: [TextKey: AppDeclaration] = [:]
    for manifest in manifests {
      switch manifest.result {
      case .failure(let error): entries.append(Entry(path: manifest.path, state: .broken(error)))
      case .success(let app):
        let key = TextKey(app.bundleIdentifier)
        if let first = byBundle[key] {
          entries.append(Entry(path: manifest.path, state: .shadowed(app, by: first.path)))
          continue
        }
        entries.append(Entry(path: manifest.path, state: .declared(app)))
        declarations.append(app)
        byBundle[key] = app
        for type in app.types { byType[TextKey(type), default: []].append(app) }
        byTeam[TextKey(app.team), default: []].append(app)
        if let file = app.desktopFile { byDesktopFile[TextKey(file), default: []].append(app) }
        for other in app.alternativeIdentifiers where byAlternative[TextKey(other)] == nil {
          byAlternative[TextKey(other)] = app
          byDesktopFile[TextKey(String(joining: "\(other).desktop")), default: []].append(app)
        }
        for domain in app.domains { byHost[TextKey(domain.host), default: []].append(Claim(app: app, domain: domain)) }
      }
    }
    self.entries = entries
    self.declarations = declarations
    self.byBundle = byBundle
    self.byType = byType
    self.byTeam = byTeam
    self.byHost = byHost
    self.byDesktopFile = byDesktopFile
    self.byAlternative = byAlternative
  }

  /// No apps.
  public convenience init() { self.init([]) }

  /// Every app once, those of higher precedence first.
  public var apps: [AppDeclaration] { declarations }

  /// Nil: no manifest describes that app.
  public subscript(bundleIdentifier: String) -> AppDeclaration? { byBundle[TextKey(bundleIdentifier)] }

  /// The bundle identifier of the program that has an identifier (R13.6): that of the manifest that lists it as a
  /// further one, unless a manifest is of that identifier itself.
  func program(of identifier: String) -> String {
    byBundle[TextKey(identifier)] == nil
      ? byAlternative[TextKey(identifier)]?.bundleIdentifier ?? identifier : identifier
  }

  /// Whether two identifiers are of one program.
  func isSameProgram(_ one: String, _ other: String?) -> Bool {
    guard let other else { return false }
    return Text.isSame(one, other) || Text.isSame(program(of: one), program(of: other))
  }

  /// The apps that declare an activity type, of any team.
  public func apps(declaring type: String) -> [AppDeclaration] { byType[TextKey(type)] ?? [] }

  public func apps(ofTeam team: String) -> [AppDeclaration] { byTeam[TextKey(team)] ?? [] }

  /// The apps whose launcher has that desktop id.
  func apps(startedBy desktopFile: String) -> [AppDeclaration] { byDesktopFile[TextKey(desktopFile)] ?? [] }

  /// The claims on the page of an origin, of each app the most exact one: of the host itself, then of those above it.
  public func claims(on origin: WebOrigin) -> [Claim] {
    guard !byHost.isEmpty else { return [] }
    var found: [Claim] = []
    var rest = Text.bytes(origin.host.text)[...]
    while true {
      for claim in byHost[TextKey(Text.decoded(Array(rest)))] ?? []
      where claim.domain.covers(origin) && !found.contains(where: { $0.app === claim.app }) { found.append(claim) }
      guard let dot = rest.firstIndex(of: UInt8(ascii: ".")) else { return found }
      rest = rest[(dot + 1)...]
    }
  }
}
