// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The pushes that this agent keeps for devices that are off (R3.15, R14.5). Once the target of one is linked, the
/// agent offers the activity to that device alone, and its owner tells the device of it. It does so again until the
/// device says how that has ended, or that it has the activity.
final class RetainedPushes {
  /// Those that are fetched at a time, and of one device.
  static let pullLimit = 8
  static let devicePullLimit = 2
  /// Milliseconds until a push is tried again; twice as long each time, up to the last.
  static let firstPause: Int64 = 5_000
  static let lastPause: Int64 = 16 * 60_000

  /// A push whose target is linked.
  private struct Attempt {
    enum Phase {
      /// Until its time comes.
      case waiting
      /// It cannot be offered now: the hub is not ready, or its date hides it.
      case held
      /// It is about to be offered.
      case offered
      /// It is offered: the owner is to tell the target.
      case ready
      case told
      /// The target has chosen an app, and fetches it until an uptime.
      case begun(until: Int64)
    }

    let activity: Identifier
    var phase = Phase.waiting
    /// The uptime from which on it is offered.
    var at: Int64
    private var pause = RetainedPushes.firstPause

    init(_ activity: Identifier, at: Int64) { (self.activity, self.at) = (activity, at) }

    mutating func fail(_ now: Instant) {
      (phase, at) = (.waiting, now.uptime + pause)
      pause = min(2 * pause, RetainedPushes.lastPause)
    }

    var nextDeadline: Int64? {
      switch phase {
      case .waiting: at
      case .begun(let until): until
      case .held, .offered, .ready, .told: nil
      }
    }
  }

  private let agent: AgentContext
  private let seen: SeenOffers
  private let copies: RetainedCopies
  private let pulls: RetainedPulls
  private var attempts: [Attempt] = []

  init(_ agent: AgentContext, _ seen: SeenOffers, _ copies: RetainedCopies, _ pulls: RetainedPulls) {
    (self.agent, self.seen, self.copies, self.pulls) = (agent, seen, copies, pulls)
  }

  // MARK: Keeping

  /// Keeps what a linked device offers, for another one. Answered by `AgentOwner.pushKept`, also from inside this call.
  func keep(_ origin: RetainedOrigin, _ now: Instant) {
    guard let push = origin.push else { return }
    do throws(SegueError) {
      try begin(push, origin, now)
    } catch {
      agent.owner.pushKept(push.id, error)
    }
  }

  private func begin(_ push: RetainedPush, _ origin: RetainedOrigin, _ now: Instant) throws(SegueError) {
    guard copies.isLoaded else { throw copies.problem ?? SegueError(.busy, "does not know yet what it keeps") }
    guard !pulls.has(push.id), copies.index(of: origin.identifier) == nil else {
      throw SegueError(.invalidState, "keeps it already")
    }
    let activity = Identifier(of: origin.activity, onDevice: origin.device)
    guard let offer = seen.list[activity], agent.origins.device(of: activity) == origin.device else {
      throw SegueError(.notFound, "push: that device does not offer it to this one")
    }
    let fetched = pulls.list.filter { $0.origin.push != nil }
    guard fetched.count < Self.pullLimit,
      fetched.count(where: { $0.origin.device == origin.device }) < Self.devicePullLimit
    else { throw SegueError(.limitExceeded, "fetches \(fetched.count) pushes") }
    makeRoom(for: offer.description.sizeHint, of: origin, now)
    let own = copies.list.count { $0.record.retained.map { $0.device == origin.device && $0.push != nil } ?? false }
    guard own < Limits.retainedPushes else { throw RetainedRoom.tooMany(isPush: true) }
    guard pulls.room.has(offer.description.sizeHint, for: origin) else { throw RetainedRoom.isFull }
    pulls.begin(push.id, origin, offer, now)
  }

  /// The oldest pushes of a device that have ended make room for a new one.
  private func makeRoom(for bytes: UInt64, of origin: RetainedOrigin, _ now: Instant) {
    while !pulls.room.has(bytes, for: origin),
      let index = copies.list.firstIndex(where: { copy in
        copy.record.receipt != nil && copy.record.retained.map { $0.device == origin.device && $0.push != nil } ?? false
      })
    {
      copies.remove(at: index, now)
    }
  }

  /// It is fetched and stored, or cannot be.
  func ended(_ pull: RetainedPull, _ now: Instant) {
    guard let push = pull.origin.push else { return }
    if case .failure(let error) = pull.end { return agent.owner.pushKept(push.id, error) }
    // A newer one of the same activity takes the place of those that wait.
    drop(now) { origin in
      origin.device == pull.origin.device && origin.activity == pull.origin.activity
        && origin.push?.target == push.target && origin.push?.id != push.id
    }
    agent.owner.pushKept(push.id, nil)
    agent.owner.noteRetention()
  }

  /// A device wants these of its pushes kept no longer. How others have ended stays.
  func drop(_ ids: [Identifier], of device: Identifier, _ now: Instant) {
    func isMeant(_ origin: RetainedOrigin) -> Bool {
      origin.device == device && origin.push.map { ids.contains($0.id) } ?? false
    }
    pulls.stop(SegueError(.userCancelled, "its device does not want it kept any longer"), now, where: isMeant)
    drop(now, where: isMeant)
  }

  private func drop(_ now: Instant, where isMeant: (RetainedOrigin) -> Bool) {
    while let index = copies.list.firstIndex(where: { copy in
      copy.record.receipt == nil && copy.record.retained.map { isMeant($0) } ?? false
    }) {
      copies.remove(at: index, now)
    }
  }

  // MARK: Giving

  /// Looks which targets are linked.
  /// - Parameter isKnown: whether it is known which devices there are.
  func review(_ linked: [Identifier], isKnown: Bool, _ now: Instant) {
    attempts.removeAll { attempt in copies.index(of: attempt.activity) == nil }
    for index in copies.list.indices {
      let record = copies.list[index].record
      guard let push = record.retained?.push else { continue }
      guard record.receipt == nil else {
        attempts.removeAll { $0.activity == record.activity }
        copies.retire(at: index, now)
        continue
      }
      guard linked.contains(push.target) else {
        attempts.removeAll { $0.activity == record.activity }
        copies.withdraw(at: index, now)
        continue
      }
      if self.index(of: record.activity) == nil { attempts.append(Attempt(record.activity, at: now.uptime)) }
      if isKnown, let attempt = self.index(of: record.activity) { review(attempt, of: index, now) }
    }
  }

  private func review(_ attempt: Int, of copy: Int, _ now: Instant) {
    let activity = attempts[attempt].activity
    switch attempts[attempt].phase {
    case .waiting where attempts[attempt].at <= now.uptime, .held:
      attempts[attempt].phase = copies.offer(at: copy, now) ? .offered : .held
    case .waiting, .told: break
    case .offered where copies.list[copy].offer == nil: attempts[attempt].fail(now)
    case .offered where seen.list[activity] != nil && agent.origins.isOfThisDevice(activity):
      attempts[attempt].phase = .ready
      agent.owner.noteRetention()
    case .offered, .ready: break
    case .begun(let until):
      if until <= now.uptime { retry(copy, now) }
    }
  }

  private func index(of activity: Identifier) -> Int? { attempts.firstIndex { $0.activity == activity } }

  /// The pushes of which their targets are to be told now.
  var due: [RetainedOrigin] {
    attempts.compactMap { attempt in
      guard case .ready = attempt.phase, let index = copies.index(of: attempt.activity) else { return nil }
      return copies.list[index].record.retained
    }
  }

  /// The target is being told.
  func told(_ activity: Identifier) {
    if let index = index(of: activity), case .ready = attempts[index].phase { attempts[index].phase = .told }
  }

  /// The target has chosen an app, or says why it does not continue the activity, or has not answered.
  func answered(_ activity: Identifier, _ error: SegueError?, _ now: Instant) {
    guard let attempt = index(of: activity), case .told = attempts[attempt].phase,
      let copy = copies.index(of: activity)
    else { return }
    guard let error else {
      // Beyond that its receipt has come.
      attempts[attempt].phase = .begun(until: now.uptime + 3 * agent.limits.continuation)
      return
    }
    switch error.status {
    case .declined: settle(copy, .declined, error, now)
    case .invalidState: settle(copy, .unknown, error, now)
    case .notFound, .notAllowed: settle(copy, .failed, error, now)
    // Nobody is there to be asked yet, say, or it was not heard.
    default: retry(copy, now)
    }
  }

  /// The target has continued it, or has tried to.
  func ended(_ receipt: Receipt, at copy: Int, _ now: Instant) {
    guard copies.list[copy].record.receipt == nil else { return }
    switch receipt.outcome {
    case .restored, .declined: copies.settle(at: copy, receipt)
    case .failed where receipt.status == .invalidState: copies.settle(at: copy, receipt)
    // The answer may be lost, or its app not there yet: the target says whether it has the activity.
    case .failed, .unknown: retry(copy, now)
    }
  }

  private func settle(_ copy: Int, _ outcome: Outcome, _ error: SegueError, _ now: Instant) {
    let record = copies.list[copy].record
    guard let push = record.retained?.push else { return }
    copies.settle(
      at: copy,
      Receipt(
        continuation: record.activity,
        receiver: Receiver(id: push.target, deviceName: "", appName: "", bundleIdentifier: ""), outcome: outcome,
        status: error.status, reason: InboxDeliveries.bounded(error.message), isStale: false, date: now.date))
  }

  private func retry(_ copy: Int, _ now: Instant) {
    copies.withdraw(at: copy, now)
    if let attempt = index(of: copies.list[copy].record.activity) { attempts[attempt].fail(now) }
  }

  var nextDeadline: Int64? { attempts.reduce(nil) { earlier($0, $1.nextDeadline) } }
}
