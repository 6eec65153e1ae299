// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A rate limit for each source, and for all of them together, so that one source does not slow down others.
public struct SourceRateLimiter {
  private let each: Int
  /// The most recent last, at most `Limits.joinSources`. The oldest is forgotten, and starts anew.
  private var sources: [(name: [UInt8], uses: RateLimiter)] = []
  private var all: RateLimiter

  /// - Parameters:
  ///   - each: uses that one source may make at once, and then one each second.
  ///   - all: those of all sources together at once, and then as many each second.
  public init(each: Int, all: Int) {
    self.each = each
    self.all = RateLimiter(burst: all, perSecond: all)
  }

  /// - Returns: whether a use of this source is within both limits; otherwise it is not charged.
  public mutating func take(_ name: [UInt8], at uptime: Int64) -> Bool {
    let known = sources.firstIndex { $0.name == name }
    var source = known.map { sources.remove(at: $0) } ?? (name: name, uses: RateLimiter(burst: each))
    let isAllowed = source.uses.allows(at: uptime) && all.take(at: uptime)
    if isAllowed { _ = source.uses.take(at: uptime) }
    sources.append(source)
    if sources.count > Limits.joinSources { sources.removeFirst() }
    return isAllowed
  }
}
