// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The description of an app before it opens.
public struct AppSettings: Sendable {
  public let bundleIdentifier: String
  public private(set) var name: String
  public private(set) var team: String
  private var declared = DeclaredTypes()
  public var types: [String] { declared.all }
  /// The type of activities that are created without one (R1.1).
  public private(set) var firstType: String?
  /// The document types (R5.1): their kinds, and the activity type of each.
  private var documentKinds: [String] = []
  private var documentActivities: [String] = []
  public var isChooser = false
  public var delivery = CallbackThread.host
  /// An absolute path; nil for that of the environment.
  public private(set) var runtimeFolder: String?
  /// For people: the window or terminal that the app is (R13.6); nil: it says none.
  public private(set) var label: String?
  public var offersFrontmostOnly = false
  public var savePolicy = SavePolicy.whenPulled

  /// The thread on which the app's callbacks run. Raw values are those of `segue_delivery`.
  public enum CallbackThread: Int32, Sendable {
    case host = 0
    case thread = 1
  }

  /// The most bytes of a folder's path, as on the system.
  public static let folderLimit = 4095

  public init(bundleIdentifier: String) throws(SegueError) {
    try Text.check(bundleIdentifier, "bundle_identifier", atMost: Limits.identifier)
    self.bundleIdentifier = bundleIdentifier
    name = bundleIdentifier
    team = bundleIdentifier
  }

  public mutating func setName(_ name: String) throws(SegueError) {
    try Text.check(name, "name", atMost: Limits.identifier)
    self.name = name
  }

  public mutating func setTeam(_ team: String) throws(SegueError) {
    try Text.check(team, "team", atMost: Limits.identifier)
    self.team = team
  }

  /// - Parameter label: nil or empty: none.
  public mutating func setLabel(_ label: String?) throws(SegueError) {
    try Text.check(label, "label", atMost: Limits.label)
    self.label = label.flatMap { Text.size($0) == 0 ? nil : $0 }
  }

  public mutating func addType(_ type: String) throws(SegueError) {
    try declare(type)
    firstType = firstType ?? type
  }

  /// Documents of that kind get activities of that type, which counts as declared (R5.1).
  public mutating func addDocumentType(_ kind: String, activityType: String) throws(SegueError) {
    try Text.check(activityType, "activity_type", atMost: Limits.type)
    guard documentKinds.count < Limits.typesPerApp else {
      throw SegueError(.limitExceeded, "content_type: an app has \(Limits.typesPerApp) document types at most")
    }
    try declare(activityType)
    documentKinds.append(kind)
    documentActivities.append(activityType)
  }

  /// Adds what a manifest says (R6.1): its name and team hold, and its types are added to those of the app.
  /// - Returns: the number of types that do not fit.
  mutating func add(_ manifest: AppManifest) -> Int {
    name = manifest.name ?? name
    team = manifest.team ?? team
    firstType = firstType ?? manifest.types.first
    let left = declared.add(manifest)
    for document in manifest.documents {
      let kind = Self.documentKind(Int64(document.role.rawValue), document.contentType)
      // An entry that the app has added itself comes first.
      guard activityType(ofDocument: kind) == nil, types.contains(where: { Text.isSame($0, document.activityType) })
      else { continue }
      documentKinds.append(kind)
      documentActivities.append(document.activityType)
    }
    return left
  }

  /// A content type and a role, as `addDocumentType` takes them.
  public static func documentKind(_ role: Int64, _ contentType: String) -> String {
    let kind: DiagnosticText = "\(role) \(contentType)"
    return kind.string
  }

  /// Nil if documents of that kind get no activities.
  func activityType(ofDocument kind: String) -> String? {
    documentKinds.firstIndex { Text.isSame($0, kind) }.map { documentActivities[$0] }
  }

  var hasDocumentTypes: Bool { !documentKinds.isEmpty }

  /// Whether documents get activities of that type.
  func isOfDocuments(_ type: String) -> Bool { documentActivities.contains { Text.isSame($0, type) } }

  private mutating func declare(_ type: String) throws(SegueError) {
    try Text.check(type, "type", atMost: Limits.type)
    guard declared.add(type) else {
      throw SegueError(
        .limitExceeded,
        "type: an app declares \(Limits.typesPerApp) types of \(Limits.typesBytes) bytes together at most"
      )
    }
  }

  public mutating func setRuntimeFolder(_ folder: String) throws(SegueError) {
    guard Text.withBytes(folder, { $0.first == UInt8(ascii: "/") }), Text.size(folder) <= Self.folderLimit else {
      throw SegueError(.invalidArgument, "folder: must be an absolute path of at most \(Self.folderLimit) bytes")
    }
    runtimeFolder = folder
  }

  func identity(_ secret: Identifier) -> AppIdentity {
    AppIdentity(
      secret: secret, bundleIdentifier: bundleIdentifier, name: name, team: team, types: types, isChooser: isChooser)
  }
}
