// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Chooses which app of this device continues an activity (R6.2, R12.2, R13.1). It has no clock and reads nothing: a
/// dry run (R6.5) and a choice are the same call.
public struct Router: Sendable {
  public var catalogue: Catalogue
  public var preferences: RoutingPreferences
  public var running: RunningApps
  /// The browsers of this device.
  public var browsers: Browsers
  /// The answers of the sites that manifests claim.
  public var sites: SiteStatuses
  /// The desktop's default programs for content types.
  public var defaults: DefaultPrograms
  /// The programs that open files (R13.7).
  public var openers: Openers

  public init(
    catalogue: Catalogue = Catalogue(), preferences: RoutingPreferences = RoutingPreferences(),
    running: RunningApps = RunningApps(), browsers: Browsers = Browsers(), sites: SiteStatuses = SiteStatuses(),
    defaults: DefaultPrograms = DefaultPrograms(), openers: Openers = Openers()
  ) {
    self.catalogue = catalogue
    self.preferences = preferences
    self.running = running
    self.browsers = browsers
    self.sites = sites
    self.defaults = defaults
    self.openers = openers
  }

  /// The candidates are the apps that declare the type, the app of the origin's bundle identifier, and the one that the
  /// user chose for the type; for an activity with a page also those that claim its site, and the browser (R12.2); for
  /// a public activity of a public type also the openers (R13.7). The order: by role, then the same bundle identifier,
  /// the user's choice, for a public activity the same team and the desktop's default (R13.1), the most recently used;
  /// at last those that run, then by bundle identifier.
  public func route(_ query: RoutingQuery) -> RoutingDecision {
    var candidates = candidates(byTypeOf: query)
    if let page = query.webOrigin { addCandidates(of: page, query, to: &candidates) }
    addOpeners(query, to: &candidates)
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
      candidates.append(candidate(app.bundleIdentifier, app, query, nil))
    }
    for app in open where !candidates.contains(where: { Text.isSame($0.bundleIdentifier, app.bundleIdentifier) }) {
      candidates.append(candidate(app.bundleIdentifier, catalogue[app.bundleIdentifier], query, nil))
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
      if decision[identifier] != nil { continue }
      others.append(candidate(identifier, app, query, nil))
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
    let (rank, otherRank) = (one.rank(for: query), other.rank(for: query))
    if rank != otherRank { return rank < otherRank }
    if one.preference != other.preference { return one.preference > other.preference }
    if one.isRunning != other.isRunning { return one.isRunning }
    return one.bundleIdentifier.utf8.lexicographicallyPrecedes(other.bundleIdentifier.utf8)
  }

  /// - Parameter preference: nil: what speaks for each app.
  private func candidate(
    _ identifier: String, _ declaration: AppDeclaration?, _ query: RoutingQuery,
    _ preference: RoutingCandidate.Preference?
  ) -> RoutingCandidate {
    let processes = running.apps(of: identifier)
    let others = self.others(of: processes, than: query.origin)
    let declarers = declarers(declaration, others, query)
    let obstacles = obstacles(declaration, others, declarers, isOrigin: processes.count > others.count, query)
    return RoutingCandidate(
      identifier, name: declaration?.name ?? processes.first?.name ?? identifier, declaration,
      isRunning: !processes.isEmpty, preference ?? self.preference(of: identifier, declaration, declarers, query),
      obstacles, isByPublicType: query.isPublic && !declarers.hasTeam && obstacles.isEmpty)
  }

  /// Further identifiers of a program count as its own (R13.6). The same team and the desktop's default count for
  /// public activities only: others are for the team alone.
  private func preference(
    of app: String, _ declaration: AppDeclaration?, _ declarers: Declarers, _ query: RoutingQuery
  ) -> RoutingCandidate.Preference {
    if catalogue.isSameProgram(app, query.bundleIdentifier) { return .sameBundle }
    if catalogue.isSameProgram(app, preferences.choice(for: query.type)) { return .chosen }
    guard query.isPublic else { return preference(of: app) }
    if declarers.hasTeam { return .sameTeam(preferences.recency(of: app)) }
    guard let file = query.contentType.flatMap({ defaults[$0] }) else { return preference(of: app) }
    let isDefault =
      Text.isSame(String(joining: "\(app).desktop"), file)
      || catalogue.apps(startedBy: file).contains { Text.isSame($0.bundleIdentifier, app) }
    return isDefault ? .desktopDefault : preference(of: app)
  }

  /// The processes that are not the origin.
  func others(of processes: [AppIdentity], than origin: Identifier?) -> [AppIdentity] {
    var others: [AppIdentity] = []
    for process in processes where process.id != origin { others.append(process) }
    return others
  }

  /// The words of an app by its manifest and by its processes, as far as they count for an activity.
  private struct Declarers {
    /// Whether one of them is of the team of the activity.
    var hasTeam = false
    /// Whether one that may continue the activity declares its type: of a public one any.
    var declares = false
  }

  /// The declarations of a process count beside the manifest: the manifest may be of another version.
  private func declarers(
    _ declaration: AppDeclaration?, _ processes: [AppIdentity], _ query: RoutingQuery
  ) -> Declarers {
    var found = Declarers()
    if let declaration {
      let isOfTeam = Text.isSame(declaration.team, query.team)
      found.hasTeam = isOfTeam
      found.declares = (isOfTeam || query.isPublic) && declaration.declares(query.type)
    }
    for process in processes {
      let isOfTeam = Text.isSame(process.team, query.team)
      found.hasTeam = found.hasTeam || isOfTeam
      found.declares = found.declares || (isOfTeam || query.isPublic) && process.declares(query.type)
    }
    return found
  }

  /// - Parameter processes: those of the app that are not the origin.
  private func obstacles(
    _ declaration: AppDeclaration?, _ processes: [AppIdentity], _ declarers: Declarers, isOrigin: Bool,
    _ query: RoutingQuery
  ) -> [RoutingCandidate.Obstacle] {
    if processes.isEmpty {
      if isOrigin { return [.isOrigin] }
      if declaration == nil { return [.noManifest] }
    }
    var obstacles: [RoutingCandidate.Obstacle] = []
    if !declarers.hasTeam, !query.isPublic {
      obstacles.append(.teamDiffers)
    } else if !declarers.declares {
      obstacles.append(.typeNotDeclared)
    }
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
