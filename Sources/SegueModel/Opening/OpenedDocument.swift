// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The file or medium of an activity of a public type, and the place in it, with which a program is started (R13.7).
public struct OpenedDocument: Sendable {
  public let type: String
  /// Keys of the type, and texts that it allows. Invariant: `url` is one of them.
  public let values: [(key: String, text: String)]

  /// The most entries: no type has more keys.
  static var most: Int { 16 }

  /// Takes what the table allows from an activity; other entries are left out (R13.3).
  /// - Parameter leavesText: whether text that is in no file stays behind, which its user has to want.
  /// Throws HANDOFF_FAILED (it is no file of this device, and no medium), UNSUPPORTED_VERSION, NOT_ALLOWED (it has
  /// text that would stay behind).
  public init(_ activity: Activity, leavesText: Bool) throws(SegueError) {
    guard let type = PublicType.named(activity.type) else {
      throw SegueError(.handoffFailed, "no program opens activities of the type \(activity.type)")
    }
    guard activity.payloadVersion <= PublicType.version else {
      throw SegueError(.unsupportedVersion, "the payload version \(activity.payloadVersion) is newer than this agent")
    }
    // A host that the table refuses counts, too: its folder is not the one of that path here.
    if let host = activity.userInfo?["host"] {
      throw SegueError(.handoffFailed, "the folder is on \(host.string ?? "another machine"), not on this device")
    }
    var values: [(key: String, text: String)] = []
    for key in type.keys {
      let name = String(joining: "\(key.name)")
      if let text = activity.userInfo?[name].flatMap({ key.text(of: $0) }) { values.append((name, text)) }
    }
    try self.init(type: activity.type, values: values)
    let hasText =
      activity.userInfo?[Self.textKey] != nil || activity.attachments.contains { Text.isSame($0.name, Self.textKey) }
    guard leavesText || !hasText else {
      throw SegueError(
        .notAllowed, "the text was changed and not saved: a program that opens the file does not get the changes")
    }
  }

  /// Takes what another process says. Throws INVALID_ARGUMENT or HANDOFF_FAILED, which name what is wrong.
  public init(type name: String, values: [(key: String, text: String)]) throws(SegueError) {
    guard let type = PublicType.named(name) else {
      throw SegueError(.invalidArgument, "open: \(name): is no public type")
    }
    guard values.count <= Self.most else { throw SegueError(.invalidArgument, "open: has more than \(Self.most) keys") }
    for value in values {
      guard let key = type.key(value.key), key.allows(value.text) else {
        throw SegueError(.invalidArgument, "open: \(value.key): is no key of \(name), or its value is none")
      }
    }
    self.type = name
    self.values = values
    guard text("url") != nil else {
      throw SegueError(.handoffFailed, "the activity has neither a file of this device nor a medium that can be opened")
    }
    if let host = text("host") {
      throw SegueError(.handoffFailed, "the folder is on \(host), not on this device")
    }
  }

  private static var textKey: String { "text" }

  /// The text for a name in an opener's line: a key, or `path`, that of a file. A text begins in its first line, unless
  /// the activity says another. Nil: it is absent.
  public func text(_ name: String) -> String? {
    if let value = values.first(where: { Text.isSame($0.key, name) }) { return value.text }
    if Text.isSame(name, "path") { return path }
    let isPlace = Text.isSame(name, "line") || Text.isSame(name, "column")
    return isPlace && PublicType.named(type)?.key(name) != nil ? "1" : nil
  }

  /// The path of the file; nil: it is a URL of the web.
  public var path: String? { text("url").flatMap { Self.path(of: $0) } }

  /// The path of a file of this device; nil: it is none, or no argument can be that path.
  static func path(of url: String) -> String? {
    guard let bytes = AbsoluteURL.filePath(url), bytes.withUnsafeBytes({ UTF8Text.isValid($0) }) else { return nil }
    return Text.decoded(bytes)
  }
}
