// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A kind of document that an app opens (R5.1): an element of `CFBundleDocumentTypes`.
public struct DocumentType: Sendable {
  /// The role of the app: what it may do with such a document.
  public enum Role: Sendable {
    case editor, viewer, shell, quickLookGenerator, none

    /// As `CFBundleTypeRole` has it.
    public var name: String {
      switch self {
      case .editor: "Editor"
      case .viewer: "Viewer"
      case .shell: "Shell"
      case .quickLookGenerator: "QLGenerator"
      case .none: "None"
      }
    }

    /// - Parameter name: a value of `CFBundleTypeRole`.
    public init?(named name: String) {
      // A raw value would be compared by Unicode, whose tables are large (docs/decisions/two-build-modes.md).
      switch true {
      case Text.isSame(name, "Editor"): self = .editor
      case Text.isSame(name, "Viewer"): self = .viewer
      case Text.isSame(name, "Shell"): self = .shell
      case Text.isSame(name, "QLGenerator"): self = .quickLookGenerator
      case Text.isSame(name, "None"): self = .none
      default: return nil
      }
    }
  }

  /// For people; nil: it has none.
  public let name: String?
  /// MIME types, or identifiers, matched exactly.
  public let contentTypes: [String]
  public let role: Role
  /// The type of the activity that such a document gets; nil: it gets none.
  public let activityType: String?

  public init(name: String?, contentTypes: [String], role: Role, activityType: String?) {
    self.name = name
    self.contentTypes = contentTypes
    self.role = role
    self.activityType = activityType
  }

  /// Those of its content types whose documents get activities by themselves while the app runs.
  var kinds: [AppManifest.Document] {
    let known: AppManifest.Document.Role? =
      switch role {
      case .editor: .editor
      case .viewer: .viewer
      case .shell, .quickLookGenerator, .none: nil
      }
    guard let known, let activityType else { return [] }
    return contentTypes.map { AppManifest.Document(role: known, contentType: $0, activityType: activityType) }
  }
}
