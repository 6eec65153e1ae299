// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The objects with one entry that stand for what JSON lacks, by the key of that entry.
enum JSONTag {
  case date, data, url, uuid, set, dictionary, double, integer

  /// The first character of the keys of such objects; another one before it makes an ordinary key of it.
  static let mark = UInt8(ascii: "$")

  var key: StaticString {
    switch self {
    case .date: "$date"
    case .data: "$data"
    case .url: "$url"
    case .uuid: "$uuid"
    case .set: "$set"
    case .dictionary: "$dict"
    case .double: "$double"
    case .integer: "$int"
    }
  }

  /// Nil if there is no such tag.
  init?(_ key: UnsafeRawBufferPointer) {
    let all: InlineArray<8, JSONTag> = [.date, .data, .url, .uuid, .set, .dictionary, .double, .integer]
    for index in all.indices where key.isSame(as: all[index].key) {
      self = all[index]
      return
    }
    return nil
  }
}

extension JSONTag {
  /// The double that JSON has no number for, by its name; nil for others.
  static func double(_ name: UnsafeRawBufferPointer) -> Double? {
    if name.isSame(as: "NaN") { return .nan }
    if name.isSame(as: "Infinity") { return .infinity }
    return name.isSame(as: "-Infinity") ? -.infinity : nil
  }

  /// The name of a double that is not finite.
  static func name(_ double: Double) -> StaticString {
    double.isNaN ? "NaN" : double > 0 ? "Infinity" : "-Infinity"
  }
}

extension UnsafeRawBufferPointer {
  func isSame(as text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount
      && ByteOrder.isSame(self, UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }
}
