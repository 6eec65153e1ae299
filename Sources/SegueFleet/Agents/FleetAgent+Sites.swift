// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel

extension FleetAgent: SiteFetcher {
  /// Milliseconds for a site to answer.
  private static let answerTime: Int64 = 50

  public func fetch(_ request: SiteFetch, _ done: @escaping (SiteFetchResult) -> Void) {
    device.internet.siteFetches.append(request)
    fleet.trace(name, "asks site", request.host)
    later(Self.answerTime) { [device] in done(device.internet.site(request)) }
  }
}

extension FleetAgent: SiteStorage {
  public func loadSites(_ done: @escaping ([UInt8]) -> Void) {
    later(0) { [disk] in done(disk.sites) }
  }

  public func storeSites(_ file: [UInt8]) { disk.sites = file }
}
