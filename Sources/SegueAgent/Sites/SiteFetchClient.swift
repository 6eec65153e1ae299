// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueTransport

/// Asks sites by processes that the launcher starts, and reads what they write. For the loop.
final class SiteFetchClient: SiteFetcher {
  /// Milliseconds for the launcher to start a process, and for that to end.
  private static let time: Int64 = 15_000

  private let helpers: HelperClient

  init(_ launcher: Launcher, on loop: Loop) {
    helpers = HelperClient(launcher, on: loop, time: Self.time, sizeLimit: SiteFetchOutput.sizeLimit)
  }

  /// Throws SYSTEM.
  func open() throws(SegueError) { try helpers.open() }
  func close() { helpers.close() }

  func fetch(_ request: SiteFetch, _ done: @escaping (SiteFetchResult) -> Void) {
    helpers.run(LaunchRequest(.fetchSite(request))) { end in
      switch end {
      case .output(let bytes): done(SiteFetchOutput.decode(bytes))
      case .late: done(.failed("the site has not answered in time"))
      case .tooLong: done(.failed("the process that asks sites says too much"))
      case .notStarted(let reason): done(.notAsked(reason))
      }
    }
  }
}
