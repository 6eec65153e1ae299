// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The tables of a database, by version. A database of an older version is migrated, one of a newer one left alone.
struct Schema: Sendable {
  /// The statements that make version N + 1 of version N; the first make version 1 of an empty file.
  let steps: [StaticString]
  /// Statements that name every column: they can be prepared only if all tables are there.
  let probes: [StaticString]

  /// The highest version that any Segue writes: a file that states a higher one is damaged.
  static let highestVersion: Int64 = 255

  /// The newest version that is known.
  var version: Int64 { Int64(steps.count) }
}

/// The guarantee that a commit waits for.
enum Durability {
  /// Each commit is on the disk when it returns.
  case full
  /// After a loss of power the last commits may be missing; what is there is consistent.
  case normal

  var pragma: StaticString {
    switch self {
    case .full: "PRAGMA synchronous=FULL"
    case .normal: "PRAGMA synchronous=NORMAL"
    }
  }
}
