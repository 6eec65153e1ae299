// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Decides which site is asked when (R12.9): those that manifests claim, and no other; never because of an offer or a
/// visit. No I/O and no clock. Dates are in seconds since 1970.
struct SiteSchedule {
  /// A site that manifests claim.
  struct Claim {
    let host: String
    /// The application identifiers of the apps that claim it, sorted.
    var apps: [String]
    var isForDevelopers: Bool
  }

  /// Requests at a time.
  static let parallelLimit = 2

  /// A request that is under way.
  private struct Pending {
    let fetch: SiteFetch
    let apps: [String]
  }

  /// In the order of the claims. Invariant: one of each host.
  private(set) var records: [SiteRecord] = []
  private var claims: [Claim] = []
  private var pending: [Pending] = []
  /// Records of sites that no manifest claims now: a manifest may come back with the next reading.
  private var former: [SiteRecord] = []

  init(_ stored: [SiteRecord] = []) { former = stored }

  // MARK: Claims

  /// The sites that the manifests claim: the first ones of the catalogue, up to the limit.
  static func claims(of catalogue: Catalogue) -> [Claim] {
    var claims: [Claim] = []
    for app in catalogue.apps {
      for domain in app.domains {
        if let index = claims.firstIndex(where: { Text.isSame($0.host, domain.host) }) {
          if !claims[index].apps.contains(where: { Text.isSame($0, app.applicationIdentifier) }) {
            claims[index].apps.append(app.applicationIdentifier)
          }
          claims[index].isForDevelopers = claims[index].isForDevelopers || domain.isForDevelopers
        } else if claims.count < Limits.domains {
          claims.append(
            Claim(host: domain.host, apps: [app.applicationIdentifier], isForDevelopers: domain.isForDevelopers))
        }
      }
    }
    for index in claims.indices {
      claims[index].apps.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
    return claims
  }

  /// The manifests have changed: new sites, and those of new apps, are asked at once.
  mutating func claim(_ claims: [Claim], at now: Double) {
    var records: [SiteRecord] = []
    for claim in claims {
      var record =
        take(claim.host)
        ?? SiteRecord(host: claim.host, apps: claim.apps, isForDevelopers: claim.isForDevelopers, at: now)
      record.setMode(isForDevelopers: claim.isForDevelopers, at: now)
      if !record.isAbout(claim.apps) { record.ask(about: claim.apps, at: now) }
      record.expire(at: now)
      records.append(record)
    }
    former = Array((self.records + former).prefix(Limits.domains))
    self.records = records
    self.claims = claims
  }

  private mutating func take(_ host: String) -> SiteRecord? {
    if let index = records.firstIndex(where: { Text.isSame($0.host, host) }) { return records.remove(at: index) }
    return former.firstIndex { Text.isSame($0.host, host) }.map { former.remove(at: $0) }
  }

  /// The user wants all sites, or one, to be asked now.
  /// - Returns: how many are.
  mutating func refresh(_ host: String?, at now: Double) -> Int {
    var count = 0
    for index in records.indices where host.map({ Text.isSame($0, records[index].host) }) ?? true {
      records[index].ask(about: claims[index].apps, at: now)
      count += 1
    }
    return count
  }

  // MARK: Requests

  /// The next request; nil: none is due, or enough are under way.
  mutating func next(at now: Double) -> SiteFetch? {
    guard pending.count < Self.parallelLimit else { return nil }
    for index in records.indices {
      records[index].expire(at: now)
      let record = records[index]
      guard record.nextAt <= now, !isPending(record.host) else { continue }
      let fetch = SiteFetch(host: record.host, path: .wellKnown, isForDevelopers: claims[index].isForDevelopers)
      pending.append(Pending(fetch: fetch, apps: claims[index].apps))
      return fetch
    }
    return nil
  }

  private func isPending(_ host: String) -> Bool { pending.contains { Text.isSame($0.fetch.host, host) } }

  /// A request has ended.
  /// - Parameter jitter: 0 to 1.
  /// - Returns: the request that follows at once; nil: the site has answered, or could not be asked.
  mutating func ended(
    _ fetch: SiteFetch, _ result: SiteFetchResult, at now: Double, jitter: Double
  ) -> SiteFetch? {
    guard let place = pending.firstIndex(where: { Text.isSame($0.fetch.host, fetch.host) }) else { return nil }
    let apps = pending[place].apps
    if case .answered(404, _) = result, fetch.path == .wellKnown {
      return SiteFetch(host: fetch.host, path: .root, isForDevelopers: fetch.isForDevelopers)
    }
    pending.remove(at: place)
    // No manifest may claim it by now.
    guard let index = records.firstIndex(where: { Text.isSame($0.host, fetch.host) }) else { return nil }
    // The claim has another mode by now, and the site is due in that.
    guard fetch.isForDevelopers == records[index].isForDevelopers else { return nil }
    switch result {
    case .answered(let status, let body):
      if let answer = Self.answer(status, body, about: apps) {
        records[index].answered(answer, about: apps, at: now, jitter: jitter)
      } else {
        records[index].failed(String(joining: "the site answers \(status)"), at: now)
      }
    case .failed(let reason): records[index].failed(reason, at: now)
    case .notAsked: records[index].wasNotAsked(at: now)
    }
    // An app may have appeared meanwhile.
    if case .answered = result, !records[index].isAbout(claims[index].apps) {
      records[index].ask(about: claims[index].apps, at: now)
    }
    return nil
  }

  /// Nil: the site is to be asked again soon.
  private static func answer(_ status: Int, _ body: [UInt8], about apps: [String]) -> SiteAnswer? {
    switch status {
    case 200: body.withUnsafeBytes { AssociationFile.answer($0, about: apps) }
    case 429, 500...: nil
    case 300..<400: .nothing(String(joining: "the site answers \(status), and redirects are not followed"))
    default: .nothing(String(joining: "the site answers \(status)"))
    }
  }

  /// The date at which `next` has something to do; nil: never.
  var nextDate: Double? {
    guard pending.count < Self.parallelLimit else { return nil }
    var next: Double?
    for record in records where !isPending(record.host) { next = min(next ?? record.nextAt, record.nextAt) }
    return next
  }

  /// The state of all sites, for the router.
  var statuses: SiteStatuses { SiteStatuses(records.map { ($0.host, $0.status) }) }
}
