// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel

/// The apps that continue a type: the one that the user chose, and the one that was used most recently (R6.2).
extension Inbox {
  /// The bundle identifier of the app that the user chose for a type; nil if none.
  public func choice(for type: String) throws(SegueError) -> String? {
    try database.firstReadable("a choice", "SELECT app FROM choices WHERE type = ?1", [.text(type)]) {
      row throws(SegueError) in try row.text(0, atMost: Limits.identifier)
    }
  }

  /// All choices, by type.
  public func choices() throws(SegueError) -> [(type: String, app: String)] {
    var found: [(type: String, app: String)] = []
    try database.forEachReadableRow("a choice", "SELECT type, app FROM choices ORDER BY type") {
      row throws(SegueError) in
      found.append((try row.text(0, atMost: Limits.type), try row.text(1, atMost: Limits.identifier)))
    }
    return found
  }

  /// Remembers a choice; nil forgets it. Throws LIMIT_EXCEEDED if there are too many, or one is too long.
  public func choose(_ app: String?, for type: String) throws(SegueError) {
    try Text.check(type, "type", atMost: Limits.type)
    guard let app else {
      try database.run("DELETE FROM choices WHERE type = ?1", [.text(type)])
      return
    }
    try Text.check(app, "app", atMost: Limits.identifier)
    try database.transaction { () throws(SegueError) in
      try database.run(
        "INSERT INTO choices (type, app) VALUES (?1, ?2) ON CONFLICT (type) DO UPDATE SET app = excluded.app",
        [.text(type), .text(app)])
      let count = try database.first("SELECT count(*) FROM choices") { row throws(SegueError) in try row.integer(0) }
      guard count ?? 0 <= Self.remembered else {
        throw SegueError(.limitExceeded, "choices: \(Self.remembered) are remembered, which is the most")
      }
    }
  }

  /// Notes that an app was used, so that `uses` has it first.
  public func markUsed(_ app: String, at now: Double) throws(SegueError) { try markUsed([app], at: now) }

  /// The same for several apps, in one commit.
  /// - Parameter apps: the most recently used last.
  public func markUsed(_ apps: [String], at now: Double) throws(SegueError) {
    for app in apps { try Text.check(app, "app", atMost: Limits.identifier) }
    try database.transaction { () throws(SegueError) in
      for (index, app) in apps.enumerated() {
        try database.run(
          "INSERT INTO uses (app, used) VALUES (?1, ?2) ON CONFLICT (app) DO UPDATE SET used = excluded.used",
          [.text(app), .real(now + Double(index) / 1e6)])
      }
      try database.run(
        "DELETE FROM uses WHERE app IN (SELECT app FROM uses ORDER BY used DESC, app LIMIT -1 OFFSET ?1)",
        [.integer(Self.remembered)])
    }
  }

  /// The bundle identifiers of apps that were used, the most recent first.
  public func uses() throws(SegueError) -> [String] {
    var found: [String] = []
    try database.forEachReadableRow("the use of an app", "SELECT app FROM uses ORDER BY used DESC, app") {
      row throws(SegueError) in
      found.append(try row.text(0, atMost: Limits.identifier))
    }
    return found
  }

  /// Forgets what is remembered of an app that was uninstalled: choices, uses, kept offers.
  public func forget(app: String) throws(SegueError) {
    try database.transaction { () throws(SegueError) in
      try database.run("DELETE FROM choices WHERE app = ?1", [.text(app)])
      try database.run("DELETE FROM uses WHERE app = ?1", [.text(app)])
      _ = try removeOffers(ofApp: app)
    }
  }
}
