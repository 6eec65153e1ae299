// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The app that continues an activity here, and the reasons against the others (R6.2, R6.5).
public struct RoutingDecision: Sendable {
  /// The best first; those with an obstacle come after all others.
  public let candidates: [RoutingCandidate]

  /// The app that continues the activity; nil: none can.
  public var chosen: RoutingCandidate? { candidates.first.flatMap { $0.isEligible ? $0 : nil } }
}
