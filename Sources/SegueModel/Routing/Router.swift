// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Chooses which app of this device continues an activity (R6.2). It has no clock and reads nothing: a dry run (R6.5)
/// and a choice are the same call.
public struct Router: Sendable {
  public var catalogue: Catalogue
  public var preferences: RoutingPreferences
  public var running: RunningApps

  public init(
    catalogue: Catalogue = Catalogue(), preferences: RoutingPreferences = RoutingPreferences(),
    running: RunningApps = RunningApps()
  ) {
    self.catalogue = catalogue
    self.preferences = preferences
    self.running = running
  }

  /// The candidates are the apps that declare the type, the app of the origin's bundle identifier, and the one that the
  /// user chose for the type. The order: the same bundle identifier first, then the user's choice, then the most
  /// recently used; at last those that run, then by bundle identifier.
  public func route(_ query: RoutingQuery) -> RoutingDecision {
    let declared = catalogue.apps(declaring: query.type)
    let open = running.apps(declaring: query.type)
    let choice = preferences.choice(for: query.type)
    let origin = query.bundleIdentifier
    var candidates: [RoutingCandidate] = []
    candidates.reserveCapacity(declared.count + open.count + 2)
    candidates.append(candidate(origin, catalogue[origin], query, .sameBundle))
    if let choice, !Text.isSame(choice, origin) {
      candidates.append(candidate(choice, catalogue[choice], query, .chosen))
    }
    // Each app is once in a catalogue, so only the preferred ones can be there already.
    for app in declared where !Text.isSame(app.bundleIdentifier, origin) && !Text.isSame(app.bundleIdentifier, choice) {
      candidates.append(candidate(app.bundleIdentifier, app, query, preference(of: app.bundleIdentifier)))
    }
    for app in open where !candidates.contains(where: { Text.isSame($0.bundleIdentifier, app.bundleIdentifier) }) {
      let declaration = catalogue[app.bundleIdentifier]
      candidates.append(candidate(app.bundleIdentifier, declaration, query, preference(of: app.bundleIdentifier)))
    }
    candidates.sort(by: Self.isBetter)
    return RoutingDecision(candidates: candidates)
  }

  /// The same decision. The apps of the origin's team that do not declare the type follow its candidates, for they may
  /// be the ones that somebody misses.
  public func explain(_ query: RoutingQuery) -> RoutingDecision {
    let choice = preferences.choice(for: query.type)
    var others: [RoutingCandidate] = []
    for app in catalogue.apps(ofTeam: query.team) where !app.declares(query.type) {
      let identifier = app.bundleIdentifier
      // These are candidates.
      if Text.isSame(identifier, query.bundleIdentifier) || Text.isSame(identifier, choice) { continue }
      others.append(candidate(identifier, app, query, preference(of: identifier)))
    }
    others.sort(by: Self.isBetter)
    return RoutingDecision(candidates: route(query).candidates + others)
  }

  private func preference(of app: String) -> RoutingCandidate.Preference {
    let recency = preferences.recency(of: app)
    return recency > 0 ? .used(recency) : .none
  }

  private static func isBetter(_ one: RoutingCandidate, _ other: RoutingCandidate) -> Bool {
    if one.isEligible != other.isEligible { return one.isEligible }
    if one.preference != other.preference { return one.preference > other.preference }
    if one.isRunning != other.isRunning { return one.isRunning }
    return one.bundleIdentifier.utf8.lexicographicallyPrecedes(other.bundleIdentifier.utf8)
  }

  private func candidate(
    _ identifier: String, _ declaration: AppDeclaration?, _ query: RoutingQuery,
    _ preference: RoutingCandidate.Preference
  ) -> RoutingCandidate {
    let processes = running.apps(of: identifier)
    var others: [AppIdentity] = []
    for process in processes where process.id != query.origin { others.append(process) }
    return RoutingCandidate(
      identifier, name: declaration?.name ?? processes.first?.name ?? identifier, declaration,
      isRunning: !processes.isEmpty, preference,
      obstacles(declaration, others, isOrigin: processes.count > others.count, query))
  }

  /// - Parameter processes: those of the app that are not the origin.
  private func obstacles(
    _ declaration: AppDeclaration?, _ processes: [AppIdentity], isOrigin: Bool, _ query: RoutingQuery
  ) -> [RoutingCandidate.Obstacle] {
    if processes.isEmpty {
      if isOrigin { return [.isOrigin] }
      if declaration == nil { return [.noManifest] }
    }
    var obstacles: [RoutingCandidate.Obstacle] = []
    // The declarations of a process count beside the manifest: the manifest may be of another version.
    var isOfTeam = false
    var isDeclared = false
    if let declaration, Text.isSame(declaration.team, query.team) {
      isOfTeam = true
      isDeclared = declaration.declares(query.type)
    }
    for process in processes where Text.isSame(process.team, query.team) {
      isOfTeam = true
      isDeclared = isDeclared || process.declares(query.type)
    }
    if !isOfTeam { obstacles.append(.teamDiffers) } else if !isDeclared { obstacles.append(.typeNotDeclared) }
    if let declaration {
      if !declaration.takes(query.payloadVersion) {
        obstacles.append(.versionDeclined(declaration.payloadVersions ?? []))
      }
      if processes.isEmpty, case .impossible(let error) = declaration.launch {
        obstacles.append(.noLaunchCommand(error))
      }
    }
    return obstacles
  }
}
