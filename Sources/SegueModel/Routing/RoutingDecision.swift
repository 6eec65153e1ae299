// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The app that continues an activity here, and the reasons against the others (R6.2, R6.5).
public struct RoutingDecision: Sendable {
  /// The best first; those with an obstacle come after all others.
  public let candidates: [RoutingCandidate]
  /// The reasons of the web that concern none of them (R12.2).
  public let notes: [WebNote]

  /// A reason why a page is continued by no app, or not at its place.
  public enum WebNote: Sendable {
    case noPage
    /// No manifest claims this host.
    case notClaimed(String)
    case noBrowser
    /// The browser of this name is started with the page, without its state.
    case noExtension(String)
  }

  init(candidates: [RoutingCandidate], notes: [WebNote] = []) {
    self.candidates = candidates
    self.notes = notes
  }

  subscript(bundleIdentifier: String) -> RoutingCandidate? {
    candidates.first { Text.isSame($0.bundleIdentifier, bundleIdentifier) }
  }

  /// The app that continues the activity; nil: none can.
  public var chosen: RoutingCandidate? { candidates.first.flatMap { $0.isEligible ? $0 : nil } }
}
