// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Chooses which app of this device continues an activity (R6.2, R12.2). It has no clock and reads nothing: a dry run
/// (R6.5) and a choice are the same call.
public struct Router: Sendable {
  public var catalogue: Catalogue
  public var preferences: RoutingPreferences
  public var running: RunningApps
  /// The browsers of this device.
  public var browsers: Browsers
  /// The answers of the sites that manifests claim.
  public var sites: SiteStatuses

  public init(
    catalogue: Catalogue = Catalogue(), preferences: RoutingPreferences = RoutingPreferences(),
    running: RunningApps = RunningApps(), browsers: Browsers = Browsers(), sites: SiteStatuses = SiteStatuses()
  ) {
    self.catalogue = catalogue
    self.preferences = preferences
    self.running = running
    self.browsers = browsers
    self.sites = sites
  }

  /// The candidates are the apps that declare the type, the app of the origin's bundle identifier, and the one that the
  /// user chose for the type; for an activity with a page also those that claim its site, and the browser (R12.2). The
  /// order: by role, then the same bundle identifier, the user's choice, the most recently used; at last those that
  /// run, then by bundle identifier.
  public func route(_ query: RoutingQuery) -> RoutingDecision {
    var candidates = candidates(byTypeOf: query)
    if let page = query.webOrigin { addCandidates(of: page, query, to: &candidates) }
    candidates.sort { Self.isBetter($0, $1, query) }
    return RoutingDecision(candidates: candidates)
  }

  private func candidates(byTypeOf query: RoutingQuery) -> [RoutingCandidate] {
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
    return candidates
  }

  /// The same decision, with notes. The apps of the origin's team that do not declare the type follow its candidates,
  /// for they may be the ones that somebody misses.
  public func explain(_ query: RoutingQuery) -> RoutingDecision {
    let choice = preferences.choice(for: query.type)
    let decision = route(query)
    var others: [RoutingCandidate] = []
    for app in catalogue.apps(ofTeam: query.team) where !app.declares(query.type) {
      let identifier = app.bundleIdentifier
      // These are candidates.
      if Text.isSame(identifier, query.bundleIdentifier) || Text.isSame(identifier, choice) { continue }
      if query.webOrigin != nil, decision[identifier] != nil { continue }
      others.append(candidate(identifier, app, query, preference(of: identifier)))
    }
    others.sort { Self.isBetter($0, $1, query) }
    return RoutingDecision(candidates: decision.candidates + others, notes: notes(on: decision, query))
  }

  func preference(of app: String) -> RoutingCandidate.Preference {
    let recency = preferences.recency(of: app)
    return recency > 0 ? .used(recency) : .none
  }

  private static func isBetter(_ one: RoutingCandidate, _ other: RoutingCandidate, _ query: RoutingQuery) -> Bool {
    if one.isEligible != other.isEligible { return one.isEligible }
    let (rank, otherRank) = (one.role.rank(for: query), other.role.rank(for: query))
    if rank != otherRank { return rank < otherRank }
    if one.preference != other.preference { return one.preference > other.preference }
    if one.isRunning != other.isRunning { return one.isRunning }
    return one.bundleIdentifier.utf8.lexicographicallyPrecedes(other.bundleIdentifier.utf8)
  }

  private func candidate(
    _ identifier: String, _ declaration: AppDeclaration?, _ query: RoutingQuery,
    _ preference: RoutingCandidate.Preference
  ) -> RoutingCandidate {
    let processes = running.apps(of: identifier)
    let others = self.others(of: processes, than: query.origin)
    return RoutingCandidate(
      identifier, name: declaration?.name ?? processes.first?.name ?? identifier, declaration,
      isRunning: !processes.isEmpty, preference,
      obstacles(declaration, others, isOrigin: processes.count > others.count, query))
  }

  /// The processes that are not the origin.
  func others(of processes: [AppIdentity], than origin: Identifier?) -> [AppIdentity] {
    var others: [AppIdentity] = []
    for process in processes where process.id != origin { others.append(process) }
    return others
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
