// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueEngine

/// The file of what is known about sites, on the disk: a thread of its own in the product, a simulated disk in the
/// fleet.
public protocol SiteStorage: AnyObject {
  /// - Parameter done: called once, in a later turn: with the file; empty if there is none, or it cannot be read.
  func loadSites(_ done: @escaping ([UInt8]) -> Void)
  /// Replaces the file. It can be made again, so nobody waits for it.
  func storeSites(_ file: [UInt8])
}

/// Knows which apps sites list: asks them by the schedule, tells the inbox, and stores what they have answered
/// (R12.9). No I/O. For one thread.
public final class SiteService: AgentTimerOwner {
  /// The longest pause of the timer, in milliseconds: the system may sleep, and clocks are set.
  private static let longestPause: Int64 = 3_600_000

  private let environment: any AgentEnvironment
  private let fetcher: any SiteFetcher
  private let storage: any SiteStorage
  private let changed: (SiteStatuses) -> Void
  private var timer: (any AgentTimer)?
  private var schedule = SiteSchedule()
  /// The claims that have come before the file was read; nil: it was.
  private var early: [SiteSchedule.Claim]? = []
  private var isClosed = false

  /// - Parameter changed: gets the state of all sites, each time that it changes.
  public init(
    in environment: any AgentEnvironment, _ fetcher: any SiteFetcher, _ storage: any SiteStorage,
    _ changed: @escaping (SiteStatuses) -> Void
  ) {
    (self.environment, self.fetcher, self.storage) = (environment, fetcher, storage)
    self.changed = changed
  }

  /// Reads what is stored, and begins to ask. Throws SYSTEM.
  public func open() throws(SegueError) {
    // `close` closes the timer before this object is released.
    timer = try environment.makeTimer(for: self)
    storage.loadSites { [self] file in
      guard !isClosed, let claims = early.take() else { return }
      schedule = SiteSchedule(SiteRecords.decode(file))
      schedule.claim(claims, at: environment.now.date)
      tell()
      ask()
    }
  }

  public func close() {
    isClosed = true
    timer?.close()
    timer = nil
  }

  /// The manifests have changed.
  public func claim(_ catalogue: Catalogue) {
    let claims = SiteSchedule.claims(of: catalogue)
    guard early == nil else { return early = claims }
    schedule.claim(claims, at: environment.now.date)
    tell()
    ask()
  }

  /// The user wants all sites, or one, to be asked now.
  /// - Returns: how many are.
  /// Throws BUSY: what is stored is not read yet.
  public func refresh(_ host: String?) throws(SegueError) -> Int {
    guard early == nil else { throw SegueError(.busy, "sites: what is stored of them is being read") }
    let count = schedule.refresh(host, at: environment.now.date)
    ask()
    return count
  }

  private func tell() { changed(schedule.statuses) }

  /// A site may be due.
  public func timerIsDue(_ timer: any AgentTimer) { ask() }

  private func ask() {
    guard early == nil, !isClosed else { return }
    while let fetch = schedule.next(at: environment.now.date) { begin(fetch) }
    guard let date = schedule.nextDate else { timer?.set(nil); return }
    let seconds = min(max(0, date - environment.now.date), Double(Self.longestPause) / 1_000)
    timer?.set(environment.uptime + max(1_000, Int64(seconds * 1_000)))
  }

  private func begin(_ fetch: SiteFetch) {
    fetcher.fetch(fetch) { [self] result in
      guard !isClosed else { return }
      let jitter = Double(environment.drawJitter()) / Double(UInt32.max)
      if let next = schedule.ended(fetch, result, at: environment.now.date, jitter: jitter) { return begin(next) }
      report(fetch.host)
      tell()
      store()
      ask()
    }
  }

  private func report(_ host: String) {
    guard let record = schedule.records.first(where: { Text.isSame($0.host, host) }) else { return }
    switch (record.unreachable, record.answer) {
    case (let unreachable?, _): environment.log(.info, "site \(host): \(unreachable.reason)")
    case (nil, .apps(let apps)?): environment.log(.debug, "site \(host): lists \(apps.count) of the apps here")
    case (nil, _): environment.log(.info, "site \(host): lists no app for Handoff; `segue route` says why")
    }
  }

  private func store() {
    guard let file = try? SiteRecords.encode(schedule.records) else { return }
    storage.storeSites(file)
  }
}
