// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The statements of a manifest about its app, whatever the form of its file; the launcher is not known yet.
struct ManifestContents {
  var bundleIdentifier: String
  /// Further identifiers of the same program (R13.6).
  var alternativeIdentifiers: [String] = []
  var team: String?
  var name: String?
  var version: String?
  var types: [String] = []
  var documentTypes: [DocumentType] = []
  var payloadVersions: [UInt32]?
  var domains: [AssociatedDomain] = []
  /// Nil: it is `TEAM.bundle`.
  var applicationIdentifier: String?
  var warnings = ManifestWarnings()
  /// The desktop id of the launcher; nil: none.
  var desktopFile: String?
  /// Whether the app needs a display.
  var isGraphical = true

  /// Throws LIMIT_EXCEEDED if that is more than a running app can declare.
  func declaration(path: String, _ launch: AppLaunch) throws(SegueError) -> AppDeclaration {
    let app = AppDeclaration(
      path: path, bundleIdentifier: bundleIdentifier, alternativeIdentifiers: alternativeIdentifiers, team: team,
      name: name, version: version, types: types, documentTypes: documentTypes, payloadVersions: payloadVersions,
      domains: domains, applicationIdentifier: applicationIdentifier, desktopFile: desktopFile, launch: launch,
      warnings: warnings.texts)
    let size = app.types.reduce(0) { $0 + $1.utf8.count }
    guard app.types.count <= Limits.typesPerApp, size <= Limits.typesBytes else {
      throw SegueError(
        .limitExceeded,
        """
        \(app.types.count) types of \(size) bytes, those of documents included; at most \(Limits.typesPerApp) of \
        \(Limits.typesBytes) bytes are allowed
        """)
    }
    let documents = app.manifest.documents
    let documentsSize = documents.reduce(0) { $0 + $1.contentType.utf8.count + $1.activityType.utf8.count }
    guard documents.count <= Limits.typesPerApp, documentsSize <= Limits.documentTypesBytes else {
      throw SegueError(
        .limitExceeded,
        """
        \(documents.count) content types of documents, with \(documentsSize) bytes; at most \(Limits.typesPerApp) of \
        \(Limits.documentTypesBytes) bytes are allowed
        """)
    }
    return app
  }
}

/// The rules for the values of manifests; errors begin with the name of the key.
enum ManifestCheck {
  /// Text that names something: not empty, bounded, without control characters. Blanks around it are none of it.
  static func name(_ text: String, _ key: String, atMost limit: Int = Limits.identifier) throws(SegueError) -> String {
    let text = Blanks.trimmed(text)
    try Text.check(text, key, atMost: limit)
    for byte in text.utf8 where byte < 0x20 || byte == 0x7F {
      throw SegueError(.malformed, "\(key): has a control character")
    }
    return text
  }

  static func types(_ types: [String], _ key: String) throws(SegueError) -> [String] {
    guard types.count <= Limits.typesPerApp else {
      throw SegueError(.limitExceeded, "\(key): \(types.count) types, at most \(Limits.typesPerApp) are allowed")
    }
    var names: [String] = []
    for (index, type) in types.enumerated() {
      names.append(try name(type, String(joining: "\(key)[\(index)]"), atMost: Limits.type))
    }
    return names
  }

  /// Each once.
  static func alternatives(_ identifiers: [String], _ key: String) throws(SegueError) -> [String] {
    guard identifiers.count <= Limits.alternativeIdentifiers else {
      throw SegueError(
        .limitExceeded,
        "\(key): \(identifiers.count) identifiers, at most \(Limits.alternativeIdentifiers) are allowed")
    }
    var names: [String] = []
    for (index, identifier) in identifiers.enumerated() {
      names.append(try name(identifier, String(joining: "\(key)[\(index)]")))
    }
    return DeclaredTypes.unique(names)
  }

  /// Ascending, each once.
  static func payloadVersions(_ versions: [Int64], _ key: String) throws(SegueError) -> [UInt32] {
    guard versions.count <= Limits.typesPerApp else {
      throw SegueError(.limitExceeded, "\(key): \(versions.count) versions, at most \(Limits.typesPerApp) are allowed")
    }
    var found: [UInt32] = []
    for (index, version) in versions.enumerated() {
      guard let version = UInt32(exactly: version) else {
        throw SegueError(.malformed, "\(key)[\(index)]: expected an integer from 0 to 4294967295, found \(version)")
      }
      if !found.contains(version) { found.append(version) }
    }
    found.sort()
    return found
  }

  /// The claims of the service `activitycontinuation` (R12.8); entries for other services are not Handoff's. An entry
  /// that is wrong has no effect, and a warning: associated domains never make a manifest unusable.
  static func domains(_ entries: [String], _ key: String, _ warnings: inout ManifestWarnings) -> [AssociatedDomain] {
    var domains: [AssociatedDomain] = []
    for (index, entry) in entries.prefix(Limits.typesPerApp).enumerated() {
      let domain: AssociatedDomain?
      do throws(SegueError) {
        domain = try AssociatedDomain.read(Blanks.trimmed(entry))
      } catch {
        warnings.add("\(key)[\(index)]: has no effect: \(error.message)")
        continue
      }
      guard let domain else { continue }
      guard domains.count < Limits.domainsPerApp else {
        warnings.add("\(key): the first \(Limits.domainsPerApp) claims of Handoff have an effect")
        return domains
      }
      domains.append(domain)
    }
    if entries.count > Limits.typesPerApp {
      warnings.add("\(key): only the first \(Limits.typesPerApp) of \(entries.count) entries are read")
    }
    return domains
  }
}
