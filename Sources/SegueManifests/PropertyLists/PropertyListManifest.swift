// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A manifest that is a property list, with the keys of Apple's (R6.1).
enum PropertyListManifest {
  static func contents(_ list: PropertyList) throws(SegueError) -> ManifestContents {
    let fields = try PropertyListFields(list)
    guard let identifier = try fields.string("CFBundleIdentifier") else {
      throw SegueError(.malformed, "CFBundleIdentifier: is missing; expected a string")
    }
    var contents = ManifestContents(bundleIdentifier: try ManifestCheck.name(identifier, "CFBundleIdentifier"))
    contents.alternativeIdentifiers = try ManifestCheck.alternatives(
      try fields.strings("SegueAlternativeIdentifiers") ?? [], "SegueAlternativeIdentifiers")
    contents.name = try text(fields, "CFBundleName")
    contents.version = try text(fields, "CFBundleVersion")
    contents.team = try text(fields, "com.apple.developer.team-identifier")
    contents.desktopFile = try text(fields, "SegueDesktopFile")
    contents.types = try ManifestCheck.types(try fields.strings("NSUserActivityTypes") ?? [], "NSUserActivityTypes")
    contents.documentTypes = try documentTypes(fields)
    contents.domains = domains(fields, &contents.warnings)
    contents.applicationIdentifier = try text(fields, "application-identifier")
    if let versions = try fields.integers("SeguePayloadVersions") {
      contents.payloadVersions = try ManifestCheck.payloadVersions(versions, "SeguePayloadVersions")
    }
    contents.isGraphical = try fields.boolean("LSBackgroundOnly") != true
    return contents
  }

  private static func text(_ fields: PropertyListFields, _ key: StaticString) throws(SegueError) -> String? {
    guard let text = try fields.string(key) else { return nil }
    return try ManifestCheck.name(text, fields.name(key))
  }

  /// The claims among the associated domains. An error in them only causes a warning: an app that works on Apple's
  /// platforms may have any text there.
  private static func domains(
    _ fields: PropertyListFields, _ warnings: inout ManifestWarnings
  ) -> [AssociatedDomain] {
    let key: StaticString = "com.apple.developer.associated-domains"
    do throws(SegueError) {
      var entries: [String] = []
      for (index, element) in (try fields.elements(key) ?? []).enumerated() {
        if case .string(let text) = element {
          entries.append(text)
        } else {
          entries.append("")
          warnings.add("\(key)[\(index)]: has no effect: expected a string, found \(element.kind)")
        }
      }
      return ManifestCheck.domains(entries, fields.name(key), &warnings)
    } catch {
      warnings.add(DiagnosticText(of: error.message))
      return []
    }
  }

  private static func documentTypes(_ fields: PropertyListFields) throws(SegueError) -> [DocumentType] {
    let elements = try fields.elements("CFBundleDocumentTypes") ?? []
    guard elements.count <= Limits.typesPerApp else {
      throw SegueError(
        .limitExceeded,
        "CFBundleDocumentTypes: \(elements.count) types, at most \(Limits.typesPerApp) are allowed")
    }
    var types: [DocumentType] = []
    for (index, element) in elements.enumerated() {
      let type = try PropertyListFields(element, at: String(joining: "CFBundleDocumentTypes[\(index)]"))
      var role = DocumentType.Role.none
      if let name = try type.string("CFBundleTypeRole") {
        guard let known = DocumentType.Role(named: name) else {
          throw SegueError(
            .malformed,
            "\(type.name("CFBundleTypeRole")): expected Editor, Viewer, Shell, QLGenerator or None, found \(name)")
        }
        role = known
      }
      var activityType: String?
      if let name = try type.string("NSUbiquitousDocumentUserActivityType") {
        activityType = try ManifestCheck.name(
          name, type.name("NSUbiquitousDocumentUserActivityType"), atMost: Limits.type)
      }
      types.append(
        DocumentType(
          name: try text(type, "CFBundleTypeName"),
          contentTypes: try ManifestCheck.types(
            try type.strings("LSItemContentTypes") ?? [], type.name("LSItemContentTypes")),
          role: role, activityType: activityType))
    }
    return types
  }
}
