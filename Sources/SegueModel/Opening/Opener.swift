// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A program that opens the files and media of public activities at their place (R13.7).
public struct Opener: Sendable {
  /// `opener:` and the name of its file without the ending: `opener:org.gnome.gedit`. An app of that program has
  /// another identifier, so what waits for the app is not the opener's.
  public let identifier: String
  /// For people.
  public let name: String
  /// The types whose documents it opens.
  public let types: [String]
  /// Whether it is the desktop's way to open a file in the application that the user has set, without the place.
  public let isDefault: Bool

  /// - Parameter file: the name of its file without the ending.
  public init(file: String, name: String, types: [String]) {
    identifier = String(joining: "opener:\(file)")
    self.name = name
    self.types = types
    isDefault = false
  }

  /// The default application of the desktop for the kind of file, whichever that is.
  public static var defaultApplication: Opener { Opener() }

  /// The content type whose default application opens an activity; nil: none does. What an origin says chooses among
  /// viewers and players only: a file that came here must not be executed because somebody calls it a program.
  /// - Parameter said: by the activity.
  public static func contentType(of type: String, said: String?) -> String? {
    if Text.isSame(type, "SegueActivityTypeEditingText") { return "text/plain" }
    if Text.isSame(type, "SegueActivityTypeUsingTerminal") { return "inode/directory" }
    guard let said else { return nil }
    let isPlaying = Text.isSame(type, "SegueActivityTypePlayingMedia")
    let media: [StaticString] = isPlaying ? ["audio/", "video/"] : ["image/"]
    let documents: [StaticString] = isPlaying ? [] : ["application/pdf", "application/epub+zip", "text/plain"]
    let isOpened = media.contains { Text.begins(said, with: $0) } || documents.contains { Text.isSame(said, $0) }
    return isOpened ? said : nil
  }

  private init() {
    identifier = "opener:"
    name = "the default application"
    types = PublicTypeTable.all.map { String(joining: "\($0.name)") }
    isDefault = true
  }

  public func opens(_ type: String) -> Bool { types.contains { Text.isSame($0, type) } }
}

/// The openers of this device whose programs are installed. Immutable: a change of the files makes another.
public final class Openers: Sendable {
  /// Those of higher precedence first.
  public let all: [Opener]

  public init(_ all: [Opener] = []) { self.all = all }

  public subscript(identifier: String) -> Opener? { all.first { Text.isSame($0.identifier, identifier) } }
}
