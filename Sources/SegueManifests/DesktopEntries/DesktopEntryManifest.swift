// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A manifest that is a `.desktop` file with keys of Segue's (R6.1).
enum DesktopEntryManifest {
  /// The prefix of the name of each key of Segue's.
  static let prefix: StaticString = "X-Segue-"

  /// - Parameter id: the desktop id of the file.
  static func contents(_ entry: DesktopEntry, id: String) throws(SegueError) -> ManifestContents {
    guard let identifier = try entry.string("X-Segue-BundleIdentifier") else {
      throw SegueError(.malformed, "X-Segue-BundleIdentifier: is missing, and there are other keys of Segue's")
    }
    var contents = ManifestContents(bundleIdentifier: try ManifestCheck.name(identifier, "X-Segue-BundleIdentifier"))
    contents.alternativeIdentifiers = try ManifestCheck.alternatives(
      try entry.list("X-Segue-AlternativeIdentifiers") ?? [], "X-Segue-AlternativeIdentifiers")
    contents.name = try text(entry, "Name")
    contents.version = try text(entry, "X-Segue-Version")
    contents.team = try text(entry, "X-Segue-TeamIdentifier")
    contents.desktopFile = id
    contents.types = try ManifestCheck.types(
      try entry.list("X-Segue-ActivityTypes") ?? [], "X-Segue-ActivityTypes")
    contents.documentTypes = try documentTypes(try entry.list("X-Segue-DocumentTypes") ?? [])
    contents.warnings = entry.warnings
    contents.domains = domains(entry, &contents.warnings)
    contents.applicationIdentifier = try text(entry, "X-Segue-ApplicationIdentifier")
    contents.payloadVersions = try payloadVersions(entry)
    contents.isGraphical = try !entry.boolean("X-Segue-BackgroundOnly")
    return contents
  }

  private static func text(_ entry: DesktopEntry, _ key: StaticString) throws(SegueError) -> String? {
    guard let text = try entry.string(key) else { return nil }
    return try ManifestCheck.name(text, String(joining: "\(key)"))
  }

  private static func domains(_ entry: DesktopEntry, _ warnings: inout ManifestWarnings) -> [AssociatedDomain] {
    do throws(SegueError) {
      return ManifestCheck.domains(
        try entry.list("X-Segue-AssociatedDomains") ?? [], "X-Segue-AssociatedDomains", &warnings)
    } catch {
      warnings.add(DiagnosticText(of: error.message))
      return []
    }
  }

  private static func payloadVersions(_ entry: DesktopEntry) throws(SegueError) -> [UInt32]? {
    guard let list = try entry.list("X-Segue-PayloadVersions") else { return nil }
    var versions: [Int64] = []
    for (index, text) in list.enumerated() {
      guard let version = IntegerText.read(Array(text.utf8)) else {
        throw SegueError(.malformed, "X-Segue-PayloadVersions[\(index)]: expected an integer, found \(text)")
      }
      versions.append(version)
    }
    return try ManifestCheck.payloadVersions(versions, "X-Segue-PayloadVersions")
  }

  /// Each element is `CONTENT-TYPE:ROLE:ACTIVITY-TYPE`.
  private static func documentTypes(_ elements: [String]) throws(SegueError) -> [DocumentType] {
    _ = try ManifestCheck.types(elements, "X-Segue-DocumentTypes")
    var types: [DocumentType] = []
    for (index, element) in elements.enumerated() {
      let parts = element.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map { part in
        Blanks.trimmed(String(decoding: part, as: UTF8.self))
      }
      guard parts.count == 3, !parts[0].utf8.isEmpty, !parts[2].utf8.isEmpty,
        let role = DocumentType.Role(named: parts[1])
      else {
        throw SegueError(
          .malformed,
          "X-Segue-DocumentTypes[\(index)]: expected CONTENT-TYPE:ROLE:ACTIVITY-TYPE with the role Editor, Viewer, Shell, QLGenerator or None, found \(element)"
        )
      }
      types.append(DocumentType(name: nil, contentTypes: [parts[0]], role: role, activityType: parts[2]))
    }
    return types
  }
}
