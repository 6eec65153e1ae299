// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Finds the hub of a device for the apps of one process, or makes this process the hub
/// (docs/decisions/numbered-generations.md).
public final class HubElection {
  /// Milliseconds to wait for another process that is about to run a generation.
  private static let openingTime: Int64 = 500
  /// Milliseconds from noticing that the directory, or a file in it, is gone until it is created again, so that no file
  /// appears in it while it is being deleted.
  private static let removalTime: Int64 = 100
  /// Milliseconds after which a directory that cannot be created is tried again.
  private static let removalRetryTime: Int64 = 2_000
  /// Generations that an app tries at once before it waits.
  private static let stepLimit = 8

  private let directory: any HubDirectory
  private var members: [Member] = []
  private var hub: (any ElectedHub)?
  /// The generation of the last hub that was this process, or to which one of its apps was connected; 0 if none was.
  private var lastKnown: UInt64 = 0
  /// The uptime at which to check whether the directory exists again; nil if it is in place.
  private var movesAt: Int64?
  /// In an agent, which keeps the place of the hub; nil in an app.
  private var place: AgentPlace?
  /// In an agent without a hub: the uptime at which it becomes the hub, and the least generation of that hub.
  private var takesPlaceAt: (uptime: Int64, minimum: UInt64)?

  private struct Member {
    let app: any HubSeeker
    /// The number of the socket to which the app has last connected.
    var socketNumber: UInt64?
    /// Nil if the app does not wait for a hub.
    var wait: Wait?
  }

  private struct Wait {
    /// The generation whose hub ends the wait.
    let awaited: UInt64
    /// The uptime at which the app looks for a hub of generation `next` or higher, if none has come.
    let at: Int64
    let next: UInt64
  }

  /// - Parameter isAgent: the process carries the hub whether it has apps or not, and takes over from all others
  ///   (`takePlace`).
  public init(in directory: any HubDirectory, isAgent: Bool = false) {
    self.directory = directory
    if isAgent { place = AgentPlace() }
  }

  // MARK: Apps

  /// Finds a hub for an app until `remove`.
  public func add(_ app: any HubSeeker, _ now: Int64) {
    members.append(Member(app: app))
    seek(app, minimum: 1, now)
  }

  public func remove(_ app: any HubSeeker) { members.removeAll { $0.app === app } }

  private func index(of app: any HubSeeker) -> Int? { members.firstIndex { $0.app === app } }

  /// Sends the messages of this process's hub that follow from the removal of an app.
  public func flushHub() { hub?.flush() }

  /// Ends the hub. Called when the process has no app left that needs it, or when the agent ends.
  public func end() {
    members = []
    place = nil
    takesPlaceAt = nil
    lastKnown = 0
    hub?.close()
    hub = nil
  }

  /// Finds the next hub of an app that has left its hub.
  public func follow(_ search: NextHubAttempt, for app: any HubSeeker, _ now: Int64) {
    switch search {
    case .seek(let minimum, let time):
      if time <= 0 { seek(app, minimum: minimum, now) } else { wait(app, next: minimum, in: time, now) }
    case .retry(let generation, let time):
      // A hub that has superseded that one may have come while the app left.
      if directory.highestGeneration > generation { return seek(app, minimum: generation + 1, now) }
      wait(app, for: generation + 1, next: 1, in: time, now)
    }
  }

  /// Connects an app to the hub of the highest generation, if that is `minimum` or higher. Otherwise makes this process
  /// the hub.
  private func seek(_ app: any HubSeeker, minimum: UInt64, _ now: Int64) {
    guard let index = index(of: app) else { return }
    members[index].wait = nil
    // The app may have found a hub since it asked.
    if let generation = app.hubGeneration, generation >= minimum { return }
    do throws(SegueError) {
      try directory.watch()
      try app.prepare()
      if !directory.isInPlace { try reopen(now) }
      try connect(app, minimum, now)
    } catch {
      directory.log(.error, "\(error.message)")
      // Waits before the next attempt: if each process failed in the same way, hubs would come and go all the time. By
      // then the hub that the app has left may answer again.
      wait(app, next: 1, in: app.couldNotConnect(error), now)
    }
  }

  private func connect(_ app: any HubSeeker, _ minimum: UInt64, _ now: Int64) throws(SegueError) {
    var minimum = continued(minimum)
    var isNewHub = false
    do throws(SegueError) {
      for _ in 0..<Self.stepLimit {
        let highest = directory.highestGeneration
        if highest >= minimum {
          // If the socket is replaced before the connection is made, the next change in the directory shows it.
          let number = directory.socketNumber(of: highest)
          switch try directory.connect(to: highest) {
          case .connected(let connection):
            lastKnown = highest
            if let index = index(of: app) { members[index].socketNumber = number }
            return try app.connected(to: connection, generation: highest)
          case .backlogFull: return follow(app.backlogFull(at: highest), for: app, now)
          case .nobody: minimum = highest + 1
          }
        } else if minimum > directory.lastGeneration {
          try directory.removeLastGeneration()
          minimum = 1
        } else {
          guard try becomeHub(minimum) else {
            return wait(app, for: minimum, next: minimum + 1, in: Self.openingTime, now)
          }
          isNewHub = true
        }
      }
      throw SegueError(.system, "\(directory.path): no hub can be reached there, not even one of this process")
    } catch {
      // Ends the new hub: other processes could not reach it either.
      if isNewHub {
        hub?.close()
        hub = nil
        keepPlace(now)
      }
      throw error
    }
  }

  /// The least generation, which follows the last known one in an emptied directory: a new app waits for the apps of a
  /// former hub, which generation 1 has not.
  private func continued(_ minimum: UInt64) -> UInt64 {
    directory.highestGeneration == 0 ? max(minimum, lastKnown + 1) : minimum
  }

  /// - Returns: false if another process is about to become this hub.
  private func becomeHub(_ generation: UInt64) throws(SegueError) -> Bool {
    let isFrontmostOnly = members.contains { $0.app.offersFrontmostOnly }
    guard let host = try directory.becomeHub(generation, offersFrontmostOnly: isFrontmostOnly) else { return false }
    hub?.stepDown()
    hub = host
    lastKnown = generation
    takesPlaceAt = nil
    directory.log(.info, "this process is the hub of generation \(generation) in \(directory.path)")
    stepDownIfSuperseded()
    return true
  }

  // MARK: The agent

  /// Whether this process carries the hub.
  public var isHub: Bool { hub != nil }

  /// Makes the agent's process the hub, one generation above all others. If another process is about to open that one,
  /// or the system refuses, the agent tries again.
  public func takePlace(_ now: Int64) { takePlace(now, minimum: 1) }

  private func takePlace(_ now: Int64, minimum: UInt64) {
    takesPlaceAt = nil
    guard place != nil, hub == nil else { return }
    var generation = minimum
    do throws(SegueError) {
      try directory.watch()
      if !directory.isInPlace { try reopen(now) }
      generation = max(continued(minimum), directory.highestGeneration + 1)
      if generation > directory.lastGeneration {
        try directory.removeLastGeneration()
        generation = 1
      }
      if try !becomeHub(generation) { takesPlaceAt = (now + Self.openingTime, generation + 1) }
    } catch {
      directory.log(.error, "\(error.message)")
    }
    keepPlace(now)
    setTimer()
  }

  /// Has an agent that is not the hub take its place again.
  private func keepPlace(_ now: Int64) {
    guard place != nil, hub == nil, takesPlaceAt == nil, let at = place?.lost(now) else { return }
    takesPlaceAt = (at, 1)
    setTimer()
  }

  // MARK: Waiting

  /// - Parameter awaited: a hub of this generation ends the wait.
  private func wait(_ app: any HubSeeker, for awaited: UInt64 = .max, next: UInt64, in time: Int64, _ now: Int64) {
    guard let index = index(of: app) else { return }
    members[index].wait = Wait(awaited: awaited, at: now + time, next: next)
    directory.lookSoon()
    setTimer()
  }

  private func setTimer() {
    var next = movesAt
    if let at = takesPlaceAt?.uptime { next = min(next ?? at, at) }
    for member in members { if let wait = member.wait { next = min(next ?? wait.at, wait.at) } }
    directory.setTimer(next)
  }

  /// Handles the timer of `HubDirectory.setTimer`.
  public func tick(_ now: Int64) {
    if let movesAt, movesAt <= now { move(now) }
    for member in members {
      guard let wait = member.wait, wait.at <= now else { continue }
      // The app may not have been told of the hub that it waits for: that one is not superseded unasked.
      let isThere = wait.awaited <= directory.highestGeneration
      seek(member.app, minimum: isThere ? wait.awaited : wait.next, now)
    }
    if let takesPlaceAt, takesPlaceAt.uptime <= now { takePlace(now, minimum: takesPlaceAt.minimum) }
    setTimer()
  }

  // MARK: Changes in the directory

  /// Handles the appearance or disappearance of a generation.
  public func directoryChanged(_ now: Int64) {
    stepDownIfSuperseded()
    if isLost {
      movesAt = movesAt ?? now + Self.removalTime
      return setTimer()
    }
    keepPlace(now)
    let highest = directory.highestGeneration
    for member in members {
      guard let generation = member.app.hubGeneration, generation < highest else { continue }
      follow(member.app.superseded(by: highest), for: member.app, now)
    }
    for member in members {
      if let wait = member.wait, wait.awaited <= highest { seek(member.app, minimum: wait.awaited, now) }
    }
  }

  private func stepDownIfSuperseded() {
    guard let hub, directory.highestGeneration > hub.generation else { return }
    directory.log(.info, "the hub of generation \(hub.generation) steps down")
    if place != nil {
      let highest = directory.highestGeneration
      directory.log(
        .error, "\(directory.holder(of: highest)) has taken the place of this agent as generation \(highest)")
    }
    hub.stepDown()
    self.hub = nil
  }

  /// Whether other processes can no longer find a hub to which an app of this process is connected.
  private var isLost: Bool {
    guard directory.isInPlace, hub?.isNamed ?? true else { return true }
    let highest = directory.highestGeneration
    return members.contains { isLost($0, highest) }
  }

  private func isLost(_ member: Member, _ highest: UInt64) -> Bool {
    guard let generation = member.app.hubGeneration else { return false }
    // Another process may have opened the same generation anew after its socket was deleted.
    return generation > highest
      || generation == highest && member.socketNumber != directory.socketNumber(of: highest)
  }

  /// Moves all apps to the directory that other processes use.
  private func move(_ now: Int64) {
    movesAt = nil
    guard isLost else { return directoryChanged(now) }
    if directory.isInPlace {
      if hub?.isNamed ?? true {
        let highest = directory.highestGeneration
        for member in members where isLost(member, highest) { member.app.disconnect() }
      } else {
        leaveHubs()
      }
    } else {
      do throws(SegueError) {
        try reopen(now)
      } catch {
        // The current hub continues until the directory can be created.
        directory.log(.error, "\(error.message)")
        movesAt = now + Self.removalRetryTime
        return
      }
    }
    keepPlace(now)
    for member in members { seek(member.app, minimum: 1, now) }
  }

  /// Creates the directory again, or opens the one that another process has created.
  private func reopen(_ now: Int64) throws(SegueError) {
    try directory.reopen()
    directory.log(.info, "\(directory.path) was removed, and is there again")
    leaveHubs()
    // Apps without a hub look for one.
    for index in members.indices { members[index].wait = Wait(awaited: 1, at: now, next: 1) }
    try directory.watch()
    setTimer()
  }

  private func leaveHubs() {
    hub?.stepDown()
    hub = nil
    for member in members where member.app.hubGeneration != nil { member.app.disconnect() }
  }
}
