// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A property list, as far as manifests need it. Dictionaries keep their order, and have each key once.
public enum PropertyList {
  public struct Entry {
    public let key: String
    public let value: PropertyList
  }

  case string(String)
  case integer(Int64)
  case boolean(Bool)
  case array([PropertyList])
  case dictionary([Entry])
  /// A value of a kind that no manifest needs: only the name of the kind, "a date".
  case other(StaticString)

  /// For messages.
  public var kind: StaticString {
    switch self {
    case .string: "a string"
    case .integer: "an integer"
    case .boolean: "a boolean"
    case .array: "an array"
    case .dictionary: "a dictionary"
    case .other(let name): name
    }
  }

  /// Reads a property list, XML or binary. Throws MALFORMED, LIMIT_EXCEEDED.
  public static func read(_ bytes: UnsafeRawBufferPointer) throws(SegueError) -> PropertyList {
    guard bytes.count <= Limits.manifestBytes else {
      throw SegueError(.limitExceeded, "\(bytes.count) bytes, at most \(Limits.manifestBytes) are allowed")
    }
    if BinaryPropertyListReader.isBinary(bytes) {
      var reader = BinaryPropertyListReader(bytes)
      return try reader.read()
    }
    return try XMLPropertyListReader().read(bytes)
  }
}

/// The limits of a property list, whatever its form: its values are counted while they are read.
struct PropertyListBounds {
  private var nodes = 0

  /// Counts one more value, or key. An object of a binary list that is referred to twice counts twice.
  mutating func count(depth: Int) throws(SegueError) {
    nodes += 1
    guard nodes <= Limits.manifestValues else {
      throw SegueError(.limitExceeded, "more than \(Limits.manifestValues) values")
    }
    guard depth <= Limits.manifestDepth else {
      throw SegueError(.limitExceeded, "more than \(Limits.manifestDepth) levels of nesting")
    }
  }
}

/// The entries of a dictionary while it is read.
struct PropertyListEntries {
  private(set) var entries: [PropertyList.Entry] = []
  private var keys: Set<[UInt8]> = []

  mutating func append(_ key: String, _ value: PropertyList) throws(SegueError) {
    guard keys.insert(Array(key.utf8)).inserted else {
      throw SegueError(.malformed, "the key \(key) is there twice")
    }
    entries.append(PropertyList.Entry(key: key, value: value))
  }
}
