// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Decides which launches may begin: one at a time per app, and few in a minute.
public struct LaunchGate {
  /// Milliseconds.
  private static let window: Int64 = 60_000
  /// Launches of one app, and of all apps, in any window.
  public static let appLimit = 5
  /// Pages that are opened in one browser.
  public static let pageLimit = 20
  public static let totalLimit = 30

  private struct Launch {
    let app: String
    let at: Int64
    /// The uptime until which it counts as under way; nil if it has ended.
    var deadline: Int64?
  }

  /// Those of the last window, and those under way: as many as `totalLimit` in a window, at most.
  private var launches: [Launch] = []

  public init() {}

  /// - Parameters:
  ///   - app: the name under which it counts.
  ///   - deadline: the uptime until which the launch counts as under way, unless it ends.
  ///   - limit: of launches in any window.
  /// Throws BUSY if a launch of the app is under way, LIMIT_EXCEEDED if there were too many.
  public mutating func begin(
    _ app: String, _ now: Int64, until deadline: Int64, atMost limit: Int = appLimit
  ) throws(SegueError) {
    launches.removeAll { $0.at <= now - Self.window && ($0.deadline ?? 0) <= now }
    let ofApp = launches.filter { Text.isSame($0.app, app) }
    if ofApp.contains(where: { ($0.deadline ?? 0) > now }) {
      throw SegueError(.busy, "launch of \(app): one is under way")
    }
    if ofApp.count >= limit {
      throw SegueError(.limitExceeded, "launch of \(app): \(limit) in a minute are the most")
    }
    if launches.count >= Self.totalLimit {
      throw SegueError(.limitExceeded, "launch of \(app): \(Self.totalLimit) of all apps in a minute are the most")
    }
    launches.append(Launch(app: app, at: now, deadline: deadline))
  }

  /// The launch of the app that is under way has ended: the app has opened, or could not be started.
  public mutating func end(_ app: String) {
    for index in launches.indices where Text.isSame(launches[index].app, app) { launches[index].deadline = nil }
  }
}
