// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The part of the choice that is about programs which take no part in Handoff, and open files (R13.7).
extension Router {
  /// Adds the openers of a public activity of a public type, with the desktop's default application for its content
  /// type.
  func addOpeners(_ query: RoutingQuery, to candidates: inout [RoutingCandidate]) {
    guard query.isPublic, PublicType.named(query.type) != nil else { return }
    let contentType = Opener.contentType(of: query.type, said: query.contentType)
    let defaultFile = contentType.flatMap { defaults[$0] }
    for opener in openers.all where opener.opens(query.type) && (!opener.isDefault || defaultFile != nil) {
      // The user's choice is there already, as an app that has no manifest.
      candidates.removeAll { Text.isSame($0.bundleIdentifier, opener.identifier) }
      candidates.append(candidate(opener, query, defaultFile))
    }
  }

  /// - Parameter defaultFile: the desktop id of the default application.
  private func candidate(_ opener: Opener, _ query: RoutingQuery, _ defaultFile: String?) -> RoutingCandidate {
    let isNewer = query.payloadVersion > PublicType.version
    let preference: RoutingCandidate.Preference =
      if Text.isSame(opener.identifier, preferences.choice(for: query.type)) {
        .chosen
      } else if Text.isSame(opener.identifier, String(joining: "opener:\(query.bundleIdentifier)")) {
        .sameBundle
      } else if let defaultFile, Text.isSame(String(joining: "\(opener.identifier).desktop"), "opener:\(defaultFile)") {
        .desktopDefault
      } else {
        .none
      }
    return RoutingCandidate(
      opener.identifier, name: opener.name, nil, isRunning: false, as: opener.isDefault ? .defaultApplication : .opener,
      preference, isNewer ? [.versionDeclined([0, PublicType.version])] : [])
  }
}
