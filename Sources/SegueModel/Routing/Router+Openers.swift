// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The part of the choice that is about programs which take no part in Handoff, and open files (R13.7).
extension Router {
  /// Adds the openers of an activity of a public type. An app that continues the activity and has the same identifier
  /// stays in their place.
  func addOpeners(_ query: RoutingQuery, to candidates: inout [RoutingCandidate]) {
    guard query.isPublic, PublicType.named(query.type) != nil else { return }
    for opener in openers.all where opener.opens(query.type) {
      let candidate = candidate(opener, query)
      let former = candidates.firstIndex { Text.isSame($0.bundleIdentifier, opener.identifier) }
      guard let former else {
        candidates.append(candidate)
        continue
      }
      if !candidates[former].isEligible { candidates[former] = candidate }
    }
  }

  private func candidate(_ opener: Opener, _ query: RoutingQuery) -> RoutingCandidate {
    let isChosen = Text.isSame(opener.identifier, preferences.choice(for: query.type))
    let isNewer = query.payloadVersion > PublicType.version
    return RoutingCandidate(
      opener.identifier, name: opener.name, nil, isRunning: false, as: opener.isDefault ? .defaultApplication : .opener,
      isChosen ? .chosen : .none, isNewer ? [.versionDeclined([0, PublicType.version])] : [])
  }
}
