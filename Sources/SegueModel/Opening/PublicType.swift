// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A public type of activities (R13.2), as far as a program can be started with what is in one: without arrays, digests
/// and the text itself. `PublicTypeTable` has all.
public struct PublicType: Sendable {
  /// A key of `userInfo`.
  public struct Key: Sendable {
    enum Kind: Sendable {
      /// - Parameter schemes: the ones that a program opens besides `file`; in lower case.
      case url(schemes: [StaticString])
      case integer(atLeast: Int64)
      case double(atLeast: Double, atMost: Double)
      case bool
      case string(Form)
    }

    enum Form: Sendable {
      /// No control character, not empty, no leading `-`.
      case line
      /// `type/subtype`
      case mime
      /// A first character of one set, and others of another: ranges as in `A-Z`.
      case name(first: StaticString, rest: StaticString)
      case oneOf([StaticString])
    }

    let name: StaticString
    let kind: Kind

    init(_ name: StaticString, _ kind: Kind) {
      self.name = name
      self.kind = kind
    }
  }

  let name: StaticString
  let keys: [Key]

  init(_ name: StaticString, _ keys: [Key]) {
    self.name = name
    self.keys = keys
  }

  /// The payload version of public types; 0 counts as this one (R13.3).
  public static var version: UInt32 { 1 }

  /// Nil: this is no public type.
  public static func named(_ name: String) -> PublicType? {
    PublicTypeTable.all.first { Text.isSame(name, $0.name) }
  }

  func key(_ name: String) -> Key? { keys.first { Text.isSame(name, $0.name) } }
}

extension Text {
  static func begins(_ text: String, with other: StaticString) -> Bool {
    text.utf8.starts(with: UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount))
  }

  static func isSame(_ text: String, _ other: StaticString) -> Bool {
    text.utf8.elementsEqual(UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount))
  }
}
