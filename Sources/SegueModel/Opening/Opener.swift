// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A program that opens the files and media of public activities at their place (R13.7).
public struct Opener: Sendable {
  /// The name of its file without the ending: `org.gnome.gedit`.
  public let identifier: String
  /// For people.
  public let name: String
  /// The types whose documents it opens.
  public let types: [String]
  /// Whether it is the desktop's way to open a file in the application that the user has set, without the place.
  public let isDefault: Bool

  public init(identifier: String, name: String, types: [String]) {
    self.identifier = identifier
    self.name = name
    self.types = types
    isDefault = false
  }

  /// The default application of the desktop for the kind of file, whichever that is.
  public static var defaultApplication: Opener { Opener() }

  private init() {
    identifier = "default-application"
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
