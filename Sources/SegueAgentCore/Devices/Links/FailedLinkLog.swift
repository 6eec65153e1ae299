// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The log of connections that have come to nothing.
struct FailedLinkLog {
  /// Milliseconds between two lines that all users see.
  private static let pause: Int64 = 5_000

  /// The uptime of the last one.
  private var writtenAt = -pause

  /// One that has knocked is a device of the account, or was: worth a word, but not one for each try.
  mutating func write(
    _ end: LinkTable<LinkPath>.End, at path: LinkPath, _ error: SegueError,
    in environment: any AgentEnvironment
  ) {
    let uptime = environment.uptime
    let isTold =
      switch end {
      case .failed, .foreign, .unlisted, .avoided: uptime >= writtenAt + Self.pause
      case .linked, .own, .silent, .unreached: false
      }
    if isTold { writtenAt = uptime }
    environment.log(isTold ? .info : .debug, "no link with \(path.text): \(error.message)")
  }
}
