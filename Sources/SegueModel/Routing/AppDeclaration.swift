// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The description of an app by its manifest (R6.1): the app need not run. An object, for it is handed on often.
public final class AppDeclaration: Sendable {
  /// The file that says it, absolute.
  public let path: String
  public let bundleIdentifier: String
  /// Further identifiers of the same program, such as its desktop ids, which count as the same bundle (R13.6).
  public let alternativeIdentifiers: [String]
  /// The Team ID; an app without one is a team of its own (R6.2).
  public let team: String
  /// For people.
  public let name: String
  /// For people; nil: it says none.
  public let version: String?
  /// The activity types that it can continue, each once, in the order of their declaration: those of
  /// `NSUserActivityTypes`, then those of its documents (R5.1).
  public let types: [String]
  public let documentTypes: [DocumentType]
  /// The payload versions that it takes (R3.7), ascending; nil: all.
  public let payloadVersions: [UInt32]?
  /// The sites whose pages it claims (R12.8).
  public let domains: [AssociatedDomain]
  /// The identifier by which sites list it (R12.8): `TEAM.bundle`, unless the manifest says another.
  public let applicationIdentifier: String
  /// The desktop id of its launcher: `org.example.Notes.desktop`; nil: it names none.
  public let desktopFile: String?
  public let launch: AppLaunch
  /// The part of the manifest that holds while the app runs.
  public let manifest: AppManifest
  /// The errors in the file that have no effect, for people.
  public let warnings: [String]

  public init(
    path: String, bundleIdentifier: String, alternativeIdentifiers: [String] = [], team: String? = nil,
    name: String? = nil, version: String? = nil, types: [String] = [], documentTypes: [DocumentType] = [],
    payloadVersions: [UInt32]? = nil,
    domains: [AssociatedDomain] = [], applicationIdentifier: String? = nil, desktopFile: String? = nil,
    launch: AppLaunch, warnings: [String] = []
  ) {
    self.path = path
    self.bundleIdentifier = bundleIdentifier
    self.alternativeIdentifiers = alternativeIdentifiers
    self.team = team ?? bundleIdentifier
    self.name = name ?? bundleIdentifier
    self.version = version
    self.types = DeclaredTypes.unique(types + documentTypes.compactMap { $0.activityType })
    self.documentTypes = documentTypes
    self.payloadVersions = payloadVersions
    self.domains = domains
    self.applicationIdentifier =
      applicationIdentifier ?? String(joining: "\(team ?? bundleIdentifier).\(bundleIdentifier)")
    self.desktopFile = desktopFile
    self.launch = launch
    manifest = AppManifest(
      name: name, team: team, types: DeclaredTypes.unique(types),
      documents: documentTypes.flatMap { $0.kinds })
    self.warnings = warnings
  }

  public func declares(_ type: String) -> Bool { types.contains { Text.isSame($0, type) } }

  /// Whether it takes payloads of that version of the origin's layout (R1.9).
  public func takes(_ version: UInt32) -> Bool { payloadVersions?.contains(version) ?? true }
}
