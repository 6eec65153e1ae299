// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The records of sites as a file: the encoding of an array of dictionaries.
public enum SiteRecords {
  /// Bytes of the file.
  public static let sizeLimit = 1024 * 1024

  static func encode(_ records: [SiteRecord]) throws(SegueError) -> [UInt8] {
    var list: [Value] = []
    for record in records {
      var entries: [(key: Value, value: Value)] = [
        (key: .string("host"), value: .string(record.host)),
        (key: .string("apps"), value: try .array(record.apps.map { .string($0) })),
        (key: .string("checked"), value: try .date(record.checkedAt)),
        (key: .string("next"), value: try .date(record.nextAt)),
      ]
      if let unreachable = record.unreachable {
        entries.append((key: .string("unreachable"), value: try .date(unreachable.since)))
        entries.append((key: .string("reason"), value: .string(unreachable.reason)))
      }
      if record.isForDevelopers { entries.append((key: .string("developer"), value: .bool(true))) }
      switch record.answer {
      case .apps(let apps): entries.append((key: .string("listed"), value: try .array(apps.map { .string($0) })))
      case .onlyAppLinks: entries.append((key: .string("answer"), value: .string("applinks")))
      case .html: entries.append((key: .string("answer"), value: .string("html")))
      case .nothing(let reason): entries.append((key: .string("nothing"), value: .string(reason)))
      case nil: break
      }
      list.append(try .dictionary(entries))
    }
    return try Value.array(list).encoding
  }

  /// Reads as much of a file as it can; a damaged one costs a question to each site.
  static func decode(_ bytes: [UInt8]) -> [SiteRecord] {
    guard bytes.count <= sizeLimit, let list = value(bytes)?.elements else { return [] }
    return list.prefix(2 * Limits.domains).compactMap { record($0) }
  }

  private static func value(_ bytes: [UInt8]) -> Value? {
    bytes.withUnsafeBytes { bytes in
      do throws(SegueError) { return try Value(cbor: bytes) } catch { return nil }
    }
  }

  private static func record(_ value: Value) -> SiteRecord? {
    guard let host = value["host"]?.string, HostName.read(host) != nil, let apps = strings(value["apps"]),
      let checked = value["checked"]?.date, let next = value["next"]?.date, checked.isFinite, next.isFinite
    else { return nil }
    var unreachable: (since: Double, reason: String)?
    if let since = value["unreachable"]?.date, since.isFinite {
      unreachable = (since, value["reason"]?.string ?? "")
    }
    let answer: SiteAnswer? =
      if let listed = strings(value["listed"]) {
        .apps(listed)
      } else if let reason = value["nothing"]?.string {
        .nothing(reason)
      } else if let word = value["answer"]?.string {
        Text.isSame(word, "html") ? .html : Text.isSame(word, "applinks") ? .onlyAppLinks : nil
      } else {
        nil
      }
    return SiteRecord(
      host: host, apps: apps, answer: answer, isForDevelopers: value["developer"]?.bool ?? false, checkedAt: checked,
      unreachable: unreachable, nextAt: next)
  }

  private static func strings(_ value: Value?) -> [String]? { value?.elements.map { $0.compactMap { $0.string } } }
}
