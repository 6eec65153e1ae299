// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The kinds of values (R1.2). Raw values are those of `SEGUE_KIND_…` in segue.h.
public enum Kind: Int32, Sendable, CaseIterable {
  case null = 1
  case bool = 2
  case integer = 3
  case double = 4
  case string = 5
  case data = 6
  case date = 7
  case url = 8
  case uuid = 9
  case array = 10
  case dictionary = 11
  case set = 12

  /// The name in messages.
  public var name: StaticString {
    switch self {
    case .null: "null"
    case .bool: "a bool"
    case .integer: "an integer"
    case .double: "a double"
    case .string: "a string"
    case .data: "data"
    case .date: "a date"
    case .url: "a URL"
    case .uuid: "a UUID"
    case .array: "an array"
    case .dictionary: "a dictionary"
    case .set: "a set"
    }
  }

  public var isContainer: Bool { self == .array || self == .dictionary || self == .set }
}
