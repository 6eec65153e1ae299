// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// The sites that are asked, and when (R12.9).
@Suite struct SiteScheduleTests {
  private let hour: Double = 3_600
  private let listing = SiteFetchResult.answered(
    status: 200, body: Array(#"{"activitycontinuation": {"apps": ["T.a", "T.b"]}}"#.utf8))

  private func claims(_ hosts: String..., apps: [String] = ["T.a"]) -> [SiteSchedule.Claim] {
    hosts.map { SiteSchedule.Claim(host: $0, apps: apps, isForDevelopers: false) }
  }

  private func schedule(_ hosts: String..., at now: Double = 0) -> Scheduled {
    let schedule = Scheduled()
    schedule.claim(hosts.map { SiteSchedule.Claim(host: $0, apps: ["T.a"], isForDevelopers: false) }, at: now)
    return schedule
  }

  /// Asks the one site that is due, and says what it answers.
  private func ask(
    _ schedule: Scheduled, _ result: SiteFetchResult, at now: Double, jitter: Double = 0
  ) throws {
    let fetchDue = schedule.next(at: now)
    let fetch = try #require(fetchDue)
    #expect(fetch.path == .wellKnown)
    let following = schedule.ended(fetch, result, at: now, jitter: jitter)
    #expect(following == nil)
  }

  private func obstacle(_ schedule: Scheduled, _ host: String = "a.com", _ app: String = "T.a") -> String {
    schedule.statuses[host]?.obstacle(for: app).map { "\($0)" } ?? "listed"
  }

  @Test func `a site is asked when a manifest claims it, then daily with jitter (R12.9)`() throws {
    let schedule = schedule("a.com")
    #expect(obstacle(schedule) == "notAsked")
    try ask(schedule, listing, at: 5, jitter: 1)
    #expect(obstacle(schedule) == "listed" && obstacle(schedule, "a.com", "T.b").hasPrefix("notListed"))
    #expect(schedule.next(at: 5 + 21 * hour)?.host == nil && schedule.nextDate == 5 + 22 * hour)
    try ask(schedule, listing, at: 5 + 22 * hour, jitter: 0)
    #expect(schedule.nextDate == 5 + 46 * hour)
    // The same manifests again ask nothing.
    schedule.claim(claims("a.com"), at: 5 + 23 * hour)
    #expect(schedule.next(at: 5 + 23 * hour)?.host == nil)
  }

  @Test func `the answer of a private address counts for developers alone, whenever that changes (R12.9)`() throws {
    func claims(_ isForDevelopers: Bool) -> [SiteSchedule.Claim] {
      [SiteSchedule.Claim(host: "a.com", apps: ["T.a"], isForDevelopers: isForDevelopers)]
    }
    func developed() throws -> Scheduled {
      let schedule = Scheduled()
      schedule.claim(claims(true), at: 0)
      try ask(schedule, listing, at: 1)
      #expect(obstacle(schedule) == "listed")
      return schedule
    }
    let changed = try developed()
    changed.claim(claims(false), at: 2)
    #expect(obstacle(changed) == "notAsked" && changed.next(at: 2)?.isForDevelopers == false)
    let removed = try developed()
    removed.claim([], at: 2)
    removed.claim(claims(false), at: 3)
    #expect(obstacle(removed) == "notAsked" && removed.next(at: 3)?.isForDevelopers == false)
    // One that is under way when the claim changes.
    let asking = Scheduled()
    asking.claim(claims(true), at: 0)
    let fetch = try #require(asking.next(at: 0))
    asking.claim(claims(false), at: 1)
    #expect(asking.ended(fetch, listing, at: 2, jitter: 0) == nil)
    #expect(obstacle(asking) == "notAsked" && asking.next(at: 2)?.isForDevelopers == false)
    // The other way round the answer stays until the next one.
    let open = schedule("a.com")
    try ask(open, listing, at: 1)
    open.claim(claims(true), at: 2)
    #expect(obstacle(open) == "listed" && open.next(at: 2)?.isForDevelopers == true)
  }

  @Test func `the root is asked only after 404 (R12.8)`() throws {
    let schedule = schedule("a.com")
    let first = try #require(schedule.next(at: 0))
    let second = try #require(schedule.ended(first, .answered(status: 404, body: []), at: 1, jitter: 0))
    #expect(second.path == .root && second.host == "a.com" && schedule.next(at: 1) == nil)
    #expect(schedule.ended(second, listing, at: 2, jitter: 0) == nil)
    #expect(obstacle(schedule) == "listed")
    for status in [301, 302, 308, 400, 401, 403, 410, 204] {
      let other = self.schedule("a.com")
      let fetch = try #require(other.next(at: 0))
      #expect(other.ended(fetch, .answered(status: status, body: []), at: 0, jitter: 0) == nil)
      #expect(obstacle(other).contains("\(status)"), "a redirect or a refusal lists nothing (W12)")
      #expect(other.nextDate == 24 * hour)
    }
    let twice = self.schedule("a.com")
    let third = try #require(twice.next(at: 0))
    let fourth = try #require(twice.ended(third, .answered(status: 404, body: []), at: 0, jitter: 0))
    #expect(twice.ended(fourth, .answered(status: 404, body: []), at: 0, jitter: 0) == nil)
    #expect(obstacle(twice).contains("404") && twice.nextDate != nil)
  }

  @Test(arguments: [
    SiteFetchResult.failed("no route"), .answered(status: 500, body: []), .answered(status: 503, body: []),
    .answered(status: 429, body: []),
  ])
  func `an answer is kept for 7 days while the site cannot be asked, which is tried every 3 h (R12.9)`(
    _ result: SiteFetchResult
  ) throws {
    let schedule = schedule("a.com")
    try ask(schedule, listing, at: 0)
    var now = 24 * hour
    var count = 0
    while now < 7 * 24 * hour {
      try ask(schedule, result, at: now)
      #expect(obstacle(schedule) == "listed")
      count += 1
      now += 3 * hour
    }
    #expect(count == 48)
    try ask(schedule, result, at: now)
    #expect(obstacle(schedule).hasPrefix("unreachable(86400.0"), "since the first failure, and no longer listed")
    try ask(schedule, listing, at: now + 3 * hour)
    #expect(obstacle(schedule) == "listed")
    #expect(schedule.statuses["a.com"]?.unreachable == nil)
  }

  @Test func `a site that withdraws is believed at its next answer (W17)`() throws {
    let schedule = schedule("a.com")
    try ask(schedule, listing, at: 0)
    let empty = SiteFetchResult.answered(status: 200, body: Array(#"{"activitycontinuation": {"apps": []}}"#.utf8))
    try ask(schedule, empty, at: 24 * hour)
    #expect(obstacle(schedule) == "notListed(86400.0)")
    try ask(schedule, .answered(status: 200, body: Array("<html>".utf8)), at: 48 * hour)
    #expect(obstacle(schedule) == "html(172800.0)")
  }

  @Test func `another app that claims a site has it asked again, also while it is asked (R12.9)`() throws {
    let schedule = schedule("a.com")
    try ask(schedule, listing, at: 0)
    schedule.claim(claims("a.com", apps: ["T.a", "T.b"]), at: 10)
    #expect(obstacle(schedule) == "listed")
    let fetch = try #require(schedule.next(at: 10))
    schedule.claim(claims("a.com", apps: ["T.a", "T.b", "T.c"]), at: 11)
    #expect(schedule.next(at: 11) == nil, "one request at a time for a site")
    #expect(schedule.ended(fetch, listing, at: 12, jitter: 0) == nil)
    try ask(schedule, listing, at: 12)
    #expect(obstacle(schedule, "a.com", "T.b") == "listed")
    #expect(obstacle(schedule, "a.com", "T.c").hasPrefix("notListed"))
    // An app that goes changes nothing.
    schedule.claim(claims("a.com"), at: 13)
    #expect(schedule.next(at: 13) == nil)
  }

  @Test func `two sites are asked at a time, and one that is no longer claimed is forgotten in the end`() throws {
    let schedule = schedule("a.com", "b.com", "c.com")
    let (first, second) = (try #require(schedule.next(at: 0)), try #require(schedule.next(at: 0)))
    #expect(schedule.next(at: 0)?.host == nil && schedule.nextDate == nil)
    schedule.claim(claims("b.com", "c.com"), at: 1)
    #expect(schedule.ended(first, listing, at: 2, jitter: 0) == nil)
    #expect(schedule.statuses["a.com"] == nil)
    #expect(schedule.next(at: 2)?.host == "c.com")
    #expect(schedule.ended(second, listing, at: 3, jitter: 0) == nil && obstacle(schedule, "b.com") == "listed")
    // A manifest that comes back finds what the site has answered.
    schedule.claim(claims("c.com"), at: 4)
    schedule.claim(claims("b.com", "c.com"), at: 5)
    #expect(obstacle(schedule, "b.com") == "listed")
  }

  @Test func `a clock that was wrong costs a question, and believes no old answer (R12.9)`() throws {
    let ahead = schedule("a.com", at: 1_000_000_000)
    try ask(ahead, listing, at: 1_000_000_000)
    try ask(ahead, .failed("no route"), at: 1_000)
    #expect(obstacle(ahead).hasPrefix("unreachable(1000.0"))
    #expect(ahead.nextDate == 1_000 + 3 * hour, "without a pause it would be asked again and again")
    try ask(ahead, listing, at: 1_000 + 3 * hour)
    #expect(obstacle(ahead) == "listed")
  }

  @Test func `what this device could not ask says nothing of the site (R12.9)`() throws {
    let schedule = schedule("a.com")
    try ask(schedule, listing, at: 0)
    let due = try #require(schedule.nextDate)
    try ask(schedule, .notAsked("the launcher is busy"), at: due)
    #expect(obstacle(schedule) == "listed" && schedule.nextDate == due + 60)
  }

  @Test func `an answer counts for the mode in which the site was asked (R12.8, W13)`() throws {
    let schedule = Scheduled()
    func claim(_ isForDevelopers: Bool, at now: Double) {
      schedule.claim([SiteSchedule.Claim(host: "a.com", apps: ["T.a"], isForDevelopers: isForDevelopers)], at: now)
    }
    claim(false, at: 0)
    try ask(schedule, .failed("a private address"), at: 0)
    claim(true, at: 10)
    #expect(schedule.nextDate == 10)
    try ask(schedule, listing, at: 10)
    #expect(obstacle(schedule) == "listed")
    claim(false, at: 20)
    #expect(schedule.nextDate == 20 && obstacle(schedule) != "listed")
  }

  @Test func `the user can have all sites asked, or one`() throws {
    let schedule = schedule("a.com", "b.com")
    try ask(schedule, listing, at: 0)
    try ask(schedule, listing, at: 0)
    #expect(schedule.next(at: 1)?.host == nil)
    let counts = [schedule.refresh("b.com", at: 1), schedule.refresh("c.com", at: 1)]
    #expect(counts == [1, 0])
    #expect(schedule.next(at: 1)?.host == "b.com")
    #expect(schedule.next(at: 1)?.host == nil)
    let all = schedule.refresh(nil, at: 1)
    #expect(all == 2 && obstacle(schedule) == "listed")
  }

  @Test func `what is stored is what was known, and damage costs a question (R12.9)`() throws {
    let schedule = schedule("a.com", "b.com", "c.com", "d.com", "e.com")
    try ask(schedule, listing, at: 10)
    try ask(schedule, .answered(status: 200, body: Array("<html>".utf8)), at: 10)
    try ask(schedule, .answered(status: 200, body: Array(#"{"applinks": {}}"#.utf8)), at: 10)
    try ask(schedule, .answered(status: 403, body: []), at: 10)
    try ask(schedule, .failed("no route"), at: 10)
    let file = try SiteRecords.encode(schedule.records)
    let next = Scheduled(SiteRecords.decode(file))
    next.claim(claims("a.com", "b.com", "c.com", "d.com", "e.com"), at: 20)
    for host in ["a.com", "b.com", "c.com", "d.com", "e.com"] {
      #expect(obstacle(next, host) == obstacle(schedule, host))
    }
    #expect(next.nextDate == schedule.nextDate && next.next(at: 20)?.host == nil)
    for count in 0..<file.count {
      let damaged = Scheduled(SiteRecords.decode(Array(file[..<count])))
      #expect(damaged.records.isEmpty)
    }
    for index in file.indices {
      var changed = file
      changed[index] ^= 0x55
      let damaged = Scheduled(SiteRecords.decode(changed))
      damaged.claim(claims("a.com"), at: 20)
      _ = damaged.nextDate
    }
  }

  @Test func `the sites of manifests are counted, and those beyond the limit are not asked (R12.9)`() throws {
    let apps = try (0..<22).map { number in
      AppDeclaration(
        path: "/\(number)", bundleIdentifier: "a\(number)", team: "T",
        domains: try (0..<30).compactMap {
          try AssociatedDomain.read("activitycontinuation:*.h\(number / 2 * 30 + $0).example?mode=developer")
        },
        launch: .command(LaunchCommand(arguments: ["a"])))
    }
    let claims = SiteSchedule.claims(of: Catalogue(apps.map { (path: $0.path, result: .success($0)) }))
    #expect(claims.count == Limits.domains && claims.first?.host == "h0.example")
    #expect(claims.first?.apps == ["T.a0", "T.a1"] && claims.allSatisfy { $0.isForDevelopers })
  }
}

extension SiteFetch: Equatable {
  public static func == (left: SiteFetch, right: SiteFetch) -> Bool {
    left.host == right.host && left.path == right.path
  }
}

extension HTTPAnswer: Equatable {
  public static func == (left: HTTPAnswer, right: HTTPAnswer) -> Bool {
    left.status == right.status && left.body == right.body
  }
}

/// A schedule as an object, which macros of tests may change.
private final class Scheduled {
  private var schedule: SiteSchedule

  init(_ stored: [SiteRecord] = []) { schedule = SiteSchedule(stored) }

  var records: [SiteRecord] { schedule.records }
  var statuses: SiteStatuses { schedule.statuses }
  var nextDate: Double? { schedule.nextDate }
  func claim(_ claims: [SiteSchedule.Claim], at now: Double) { schedule.claim(claims, at: now) }
  func refresh(_ host: String?, at now: Double) -> Int { schedule.refresh(host, at: now) }
  func next(at now: Double) -> SiteFetch? { schedule.next(at: now) }
  func ended(_ fetch: SiteFetch, _ result: SiteFetchResult, at now: Double, jitter: Double) -> SiteFetch? {
    schedule.ended(fetch, result, at: now, jitter: jitter)
  }
}
