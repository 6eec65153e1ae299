/// A kind of document that an app opens (R5.1): an element of `CFBundleDocumentTypes`.
public struct DocumentType: Sendable {
  /// What the app may do with such a document. Raw values are those of `CFBundleTypeRole`.
  public enum Role: String, Sendable {
    case editor = "Editor"
    case viewer = "Viewer"
    case shell = "Shell"
    case quickLookGenerator = "QLGenerator"
    case none = "None"
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
}
