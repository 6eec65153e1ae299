// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// An activity that apps of other teams may continue, too (R13.1).
extension Activity {
  /// The key of `userInfo` for the MIME type of what the activity shows (R13.2).
  static var contentTypeKey: String { "contentType" }

  /// Whether activities of a type are public unless their origin says otherwise.
  public static func isPublicType(_ type: String) -> Bool { PublicTypes.has(type) || isBrowsingWeb(type) }

  public var isPublic: Bool { publicity ?? Self.isPublicType(type) }

  /// The MIME type that its offer carries: for the desktop's default application. Nil: it is not public, or says none.
  public var offeredContentType: String? {
    guard isPublic, let text = userInfo?[Activity.contentTypeKey]?.string, ContentType.isValid(text) else { return nil }
    return text
  }
}
