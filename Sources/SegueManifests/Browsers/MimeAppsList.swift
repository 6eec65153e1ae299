// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A file `mimeapps.list` (freedesktop's "Association between MIME types and applications" 1.0.1): of some content
/// types the desktop ids of each group, in their order, and the default programs of all others.
struct MimeAppsList {
  /// The programs of one type.
  struct Programs {
    fileprivate(set) var defaults: [String] = []
    fileprivate(set) var added: [String] = []
    fileprivate(set) var removed: [String] = []
  }

  private let types: [String]
  private var programs: [Programs]
  /// The other content types that have default programs, and their desktop ids, in the order of the file.
  private(set) var defaults: [(contentType: String, ids: [String])] = []
  /// Desktop ids in one list; further ones are ignored.
  private static let limit = 64
  /// Content types with default programs; further ones are ignored.
  private static let contentTypeLimit = 4_096

  private enum Group {
    case defaults, added, removed, other
  }

  /// - Parameter type: one of those that were read; another has none.
  subscript(type: String) -> Programs {
    types.firstIndex { Text.isSame($0, type) }.map { programs[$0] } ?? Programs()
  }

  /// Lines that are wrong are read past: the file is other programs'.
  init(_ bytes: UnsafeRawBufferPointer, of types: [String]) {
    self.types = types
    programs = types.map { _ in Programs() }
    var group = Group.other
    var start = 0
    while start < bytes.count {
      var end = start
      while end < bytes.count, bytes[end] != 0x0A { end += 1 }
      let line = Blanks.trimmed(bytes[start..<end])
      start = end + 1
      if line.first == UInt8(ascii: "[") {
        group = Self.group(line)
      } else if let equals = line.firstIndex(of: UInt8(ascii: "=")) {
        add(Blanks.trimmed(line[(equals + 1)...]), of: Blanks.trimmed(line[..<equals]), group)
      }
    }
  }

  private static func group(_ header: Slice<UnsafeRawBufferPointer>) -> Group {
    if header.elementsEqual("[Default Applications]".utf8) { return .defaults }
    if header.elementsEqual("[Added Associations]".utf8) { return .added }
    return header.elementsEqual("[Removed Associations]".utf8) ? .removed : .other
  }

  private mutating func add(
    _ value: Slice<UnsafeRawBufferPointer>, of key: Slice<UnsafeRawBufferPointer>, _ group: Group
  ) {
    let ids = value.split(separator: UInt8(ascii: ";")).prefix(Self.limit).map { id in
      Text.decoded(Array(Blanks.trimmed(id)))
    }
    if let index = types.firstIndex(where: { key.elementsEqual($0.utf8) }) {
      Self.put(ids, group, into: &programs[index])
    } else if group == .defaults, !ids.isEmpty, defaults.count < Self.contentTypeLimit {
      let contentType = Text.decoded(Array(key))
      if ContentType.isValid(contentType) { defaults.append((contentType, ids)) }
    }
  }

  /// The first line of a key counts.
  private static func put(_ ids: [String], _ group: Group, into programs: inout Programs) {
    switch group {
    case .defaults: if programs.defaults.isEmpty { programs.defaults = ids }
    case .added: if programs.added.isEmpty { programs.added = ids }
    case .removed: if programs.removed.isEmpty { programs.removed = ids }
    case .other: break
    }
  }
}
