// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore

/// The Internet as far as the agents of a device ask it: sites (R12.9) and names (R14.2). Nothing else of a fleet is in
/// it.
public struct DeviceInternet {
  /// Answers for a site.
  public var site: (SiteFetch) -> SiteFetchResult = { _ in .failed("there is no such site") }
  /// The requests to sites, in their order.
  public internal(set) var siteFetches: [SiteFetch] = []
  /// Looks a name up; nil: no answer comes.
  public var resolver: (DeviceHostName) -> NameLookup? = {
    .failed(String(joining: "\($0.text): the name is not found"))
  }
  /// The names that were looked up, in their order.
  public internal(set) var lookUps: [DeviceHostName] = []
}
