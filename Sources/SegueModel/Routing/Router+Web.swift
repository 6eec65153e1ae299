// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The part of the choice that is about web pages (R12.2): apps that are associated with a site, and the browser.
extension Router {
  /// Adds the candidates for a page, each app once.
  func addCandidates(of page: WebOrigin, _ query: RoutingQuery, to candidates: inout [RoutingCandidate]) {
    for claim in catalogue.claims(on: page) { put(association(claim, query), query, into: &candidates) }
    if let browser = browser(for: page) { put(candidate(browser, query), query, into: &candidates) }
    // For a page that is nothing else they are candidates by their type.
    for host in query.isBrowsing ? [] : running.apps(declaring: Activity.browsingWeb)
    where host.id != query.origin && Browser.isHost(host.bundleIdentifier, ofTeam: host.team) {
      let other = candidate(host.bundleIdentifier, host.name, isRunning: true, as: .otherBrowser, query, [])
      put(other, query, into: &candidates)
    }
  }

  /// The browser that the user has chosen for pages, else the desktop's default (R12.3).
  private func browser(for page: WebOrigin) -> Browser? {
    browsers.browser(for: page.scheme, chosen: preferences.choice(for: Activity.browsingWeb))
  }

  /// Puts a candidate in the place of the same app in another role, unless that role comes first and fits.
  private func put(_ candidate: RoutingCandidate, _ query: RoutingQuery, into candidates: inout [RoutingCandidate]) {
    guard let index = candidates.firstIndex(where: { Text.isSame($0.bundleIdentifier, candidate.bundleIdentifier) })
    else { return candidates.append(candidate) }
    let former = candidates[index]
    let isFirst = former.rank(for: query) < candidate.rank(for: query)
    if former.isEligible, isFirst || !candidate.isEligible { return }
    candidates[index] = candidate
  }

  // MARK: Associations

  private func association(_ claim: Catalogue.Claim, _ query: RoutingQuery) -> RoutingCandidate {
    let app = claim.app
    let processes = running.apps(of: app.bundleIdentifier)
    let others = others(of: processes, than: query.origin)
    var obstacles: [RoutingCandidate.Obstacle] = []
    let status = sites[claim.domain.host] ?? SiteStatus(answer: nil)
    if let obstacle = status.obstacle(for: app.applicationIdentifier) { obstacles.append(.site(obstacle)) }
    if others.isEmpty {
      if !processes.isEmpty {
        obstacles.append(.isOrigin)
      } else if case .impossible(let error) = app.launch {
        obstacles.append(.noLaunchCommand(error))
      }
    }
    return RoutingCandidate(
      app.bundleIdentifier, name: app.name, app, isRunning: !processes.isEmpty,
      as: query.isOfPage && declares(query.type, app, others) ? .siteApp : .association,
      pagePreference(of: app.bundleIdentifier, query), obstacles)
  }

  /// - Parameter processes: of that app, whose declarations count beside those of the manifest.
  private func declares(_ type: String, _ app: AppDeclaration, _ processes: [AppIdentity]) -> Bool {
    app.declares(type) || processes.contains { Text.isSame($0.team, app.team) && $0.declares(type) }
  }

  /// Whether what the origin puts into its activity may reach a page of the activity's site, or a browser that shows
  /// it (R12.7): a page's own activity reaches pages of its origin, and so does that of an app which declares its type
  /// and is associated with the site by what this device knows.
  public func mayReachPage(_ query: RoutingQuery) -> Bool {
    if query.isOfPage { return true }
    guard let page = query.webOrigin, page.isSecure, !query.isBrowsing, let app = catalogue[query.bundleIdentifier],
      Text.isSame(app.team, query.team), app.declares(query.type),
      let claim = catalogue.claims(on: page).first(where: { $0.app === app })
    else { return false }
    return sites[claim.domain.host].map { $0.obstacle(for: app.applicationIdentifier) == nil } ?? false
  }

  /// The user chooses an app for pages by the type of pages.
  private func pagePreference(of app: String, _ query: RoutingQuery) -> RoutingCandidate.Preference {
    if Text.isSame(app, query.bundleIdentifier) { return .sameBundle }
    if Text.isSame(app, preferences.choice(for: Activity.browsingWeb)) { return .chosen }
    return preference(of: app)
  }

  // MARK: The browser

  /// The browser as an app that takes part in Handoff, if it does, else as a program that opens URLs. This decides who
  /// opens the page, so that never both do (R12.3).
  private func candidate(_ browser: Browser, _ query: RoutingQuery) -> RoutingCandidate {
    let declarations = catalogue.apps(startedBy: browser.desktopFile)
    var origin: (bundle: String, name: String)?
    for bundle in [browser.identifier] + (browser.host.map { [$0] } ?? []) + declarations.map({ $0.bundleIdentifier }) {
      let processes = running.apps(of: bundle).filter { $0.declares(Activity.browsingWeb) }
      if let process = others(of: processes, than: query.origin).first {
        return candidate(bundle, process.name, isRunning: true, as: .browser, query, [])
      }
      if let process = processes.first { origin = origin ?? (bundle, process.name) }
    }
    if let origin { return candidate(origin.bundle, origin.name, isRunning: true, as: .browser, query, [.isOrigin]) }
    for app in declarations where app.declares(Activity.browsingWeb) {
      if case .command = app.launch {
        return candidate(app.bundleIdentifier, app.name, isRunning: false, as: .browser, query, [])
      }
    }
    return RoutingCandidate(
      browser.identifier, name: browser.name, catalogue[browser.identifier], isRunning: false, as: .urlHandler,
      pagePreference(of: browser.identifier, query), browser.problem.map { [.noLaunchCommand($0)] } ?? [])
  }

  private func candidate(
    _ bundle: String, _ name: String, isRunning: Bool, as role: RoutingCandidate.Role, _ query: RoutingQuery,
    _ obstacles: [RoutingCandidate.Obstacle]
  ) -> RoutingCandidate {
    RoutingCandidate(
      bundle, name: name, catalogue[bundle], isRunning: isRunning, as: role, pagePreference(of: bundle, query),
      obstacles)
  }

  // MARK: Notes

  /// The reasons of the web that concern no candidate. Without a page there is one only if it is missed.
  func notes(on decision: RoutingDecision, _ query: RoutingQuery) -> [RoutingDecision.WebNote] {
    guard let page = query.webOrigin else { return query.isBrowsing || decision.chosen == nil ? [.noPage] : [] }
    var notes: [RoutingDecision.WebNote] = []
    if catalogue.claims(on: page).isEmpty { notes.append(.notClaimed(page.host.text)) }
    guard let browser = browser(for: page) else { return notes + [.noBrowser] }
    if decision.candidates.contains(where: { if case .urlHandler = $0.role { true } else { false } }) {
      notes.append(.noExtension(browser.name))
    }
    return notes
  }
}

extension RoutingCandidate {
  /// Lower comes first (R12.2). For a page's own activity a browser comes before an app that gets the page without it
  /// (R12.7). A program that opens files comes after all apps, or before them if the user has chosen it (R13.7).
  func rank(for query: RoutingQuery) -> Int {
    switch role {
    case .app: query.isBrowsing ? 3 : 0
    case .siteApp: 1
    case .association: query.isOfPage ? 4 : 1
    case .browser, .urlHandler: 2
    case .otherBrowser: 3
    case .opener, .defaultApplication: preference == .chosen ? -1 : role == .opener ? 5 : 6
    }
  }
}
