// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The offers and pushes that devices of the account keep for each other while one is away (R14.5): those that this one
/// has its mailbox retain, and those that it retains for others. For one thread.
final class DeviceRetention {
  /// Milliseconds from a change of what is offered until the mailbox hears of it, and between two lists.
  static let tellingPause: Int64 = 500
  /// Milliseconds for the mailbox to answer; twice as long each time that it has not, up to the last.
  static let firstAnswerTime: Int64 = 10_000
  static let lastAnswerTime: Int64 = 16 * 60_000
  /// Proofs of other devices that are remembered as genuine.
  private static let provenLimit = 256

  private let inbox: any RetainingInbox
  private let environment: any AgentEnvironment
  private let security: any LinkSecurity
  /// Sends a message to a device, if it is linked. Set by the owner, as the next one.
  var send: ((_ message: [UInt8], _ device: Identifier) -> Void)?
  /// Called when a deadline has changed, or what users are told.
  var changed: (() -> Void)?
  /// Called when targets may have to be told of pushes.
  var pushesChanged: (() -> Void)?

  private var identity: DeviceIdentity?
  private var credentials: DeviceCredentials?
  /// The others of the account, and those that are linked.
  private var devices: [Identifier] = []
  private var linked: [Identifier] = []
  /// This device.
  private var name: String?

  // The offers of this device that others retain.

  /// The device that the user has chosen, if it is in the account.
  private(set) var mailbox: Identifier?
  private var isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?
  private var revisions: OwnRevisions?
  private var proofs: [(request: RetainRequest, mailbox: Identifier)] = []
  /// The list that the mailbox has over this link; nil: none.
  private var told: [RetainedState]?
  private var tellsAt: Int64?
  /// The uptime by which the mailbox has answered that list, or is told again: a message may be lost in a queue.
  private var answerBy: Int64?
  private var answerTime = DeviceRetention.firstAnswerTime
  /// The offers of this one that devices say they have.
  private var kept: [(device: Identifier, states: [RetainedState], problem: SegueError?)] = []
  /// The pushes of this one that devices say they keep.
  private var keptPushes: [(device: Identifier, states: [KeptPushState])] = []

  // The offers that this device retains.

  private var copies: [(activity: Identifier, origin: RetainedOrigin, isContinued: Bool)] = []
  /// The last report to each device.
  private var reports: [(device: Identifier, states: [RetainedState], problem: SegueError?)] = []
  private var pushReports: [(device: Identifier, states: [KeptPushState])] = []
  /// Proofs that were checked, the latest last.
  private var proven: [(origin: RetainedOrigin, mailbox: Identifier)] = []
  private var isClosed = false

  init(_ inbox: any RetainingInbox, in environment: any AgentEnvironment, _ security: any LinkSecurity) {
    (self.inbox, self.environment, self.security) = (inbox, environment, security)
  }

  func open() {
    // `close` ends it.
    inbox.retentionChanged = { [unowned(unsafe) self] in self.retentionChanged() }
  }

  func close() {
    isClosed = true
    inbox.retentionChanged = nil
    (send, changed, pushesChanged) = (nil, nil, nil)
  }

  // MARK: The account, and the settings

  /// The account has changed: devices, or credentials.
  func take(_ account: AccountSnapshot) {
    // A file that cannot be read says nothing of who was removed.
    if case .unusable = account.status, account.identity == nil { return }
    identity = account.identity
    credentials = account.credentials
    name = account.devices.first { $0.isThisDevice }?.name
    devices = account.devices.filter { !$0.isThisDevice }.map { $0.id }
    // Its proof may have been made with another key, or be of a device that was removed.
    let own = identity?.device
    proven.removeAll { !devices.contains($0.origin.device) || $0.mailbox != own && !devices.contains($0.mailbox) }
    kept.removeAll { !devices.contains($0.device) }
    keptPushes.removeAll { !devices.contains($0.device) }
    reports.removeAll { !devices.contains($0.device) }
    pushReports.removeAll { !devices.contains($0.device) }
    tellInbox()
  }

  /// - Parameters:
  ///   - mailbox: the device that the user has chosen; nil: none.
  ///   - isPrivate: whether the user keeps a type or an app on this device.
  func set(_ mailbox: Identifier?, _ isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?) {
    self.isPrivate = isPrivate
    let former = self.mailbox
    self.mailbox = mailbox.flatMap { devices.contains($0) ? $0 : nil }
    if let former, former != self.mailbox {
      tell([], to: former)
      dropPushes(at: former) { _ in true }
      (told, answerBy, proofs) = (nil, nil, [])
    }
    tellSoon()
  }

  /// The agent has started for that many times, as the disk has it: revisions begin above all former ones.
  func begin(_ start: UInt64) {
    revisions = OwnRevisions(start: start)
    tellSoon()
  }

  /// Whether revisions can be told, which needs a number that is on the disk.
  var hasBegun: Bool { revisions != nil }

  /// Only these devices are linked.
  func keep(_ linked: [Identifier]) {
    self.linked = linked
    if let mailbox, !linked.contains(mailbox) { (told, answerBy) = (nil, nil) }
    reports.removeAll { !linked.contains($0.device) }
    pushReports.removeAll { !linked.contains($0.device) }
    tellInbox()
  }

  /// A link with a device has begun.
  func began(_ device: Identifier) {
    if device == mailbox {
      told = nil
      tellSoon()
    }
    // Each says anew what it has of the other one, if it has something.
    kept.removeAll { $0.device == device }
    keptPushes.removeAll { $0.device == device }
    reports.removeAll { $0.device == device }
    pushReports.removeAll { $0.device == device }
    retentionChanged()
  }

  private func tellInbox() { inbox.setDevices(devices, linked: linked.filter { devices.contains($0) }, name: name) }

  // MARK: Messages

  /// - Parameter device: as its certificate says.
  func handle(_ message: DeviceMessage, from device: Identifier) {
    switch message {
    case .retain(let requests): retain(requests, for: device)
    case .retained(let states, let problem): heard(states, problem, by: device)
    case .keptPushes(let states):
      keptPushes.removeAll { $0.device == device }
      if !states.isEmpty { keptPushes.append((device, states)) }
      // One that was the mailbox, and was not linked when that ended.
      if device != mailbox { dropPushes(at: device) { _ in true } }
      changed?()
    case .dropPushes(let ids): inbox.dropPushes(ids, of: device)
    default: break
    }
  }

  /// A device wants these retained, and no others.
  private func retain(_ requests: [RetainRequest], for device: Identifier) {
    guard let identity, devices.contains(device) else { return }
    // One more than is kept says that there are too many.
    let wanted = requests.prefix(Limits.retainedOffers + 1).map {
      RetainedOrigin(device: device, activity: $0.activity, revision: $0.revision, proof: $0.proof)
    }
    // Others would not believe what does not prove that.
    let genuine = wanted.filter { isProven($0, by: identity.device, identity.account) }
    inbox.retain(genuine, for: device)
    report(to: device, isAnswer: true)
  }

  /// A device says what it has of this one.
  private func heard(_ states: [RetainedState], _ problem: SegueError?, by device: Identifier) {
    if device == mailbox { (answerBy, answerTime) = (nil, Self.firstAnswerTime) }
    let former = kept.first { $0.device == device }?.problem
    kept.removeAll { $0.device == device }
    if !states.isEmpty || problem != nil { kept.append((device, states, problem)) }
    if let problem, problem != former, device == mailbox { environment.log(.error, "the mailbox \(problem.message)") }
    // One that was the mailbox, and was not linked when that ended.
    if device != mailbox, !states.isEmpty { tell([], to: device) }
    changed?()
  }

  // MARK: What is retained for this device

  private func tellSoon() {
    guard mailbox != nil, tellsAt == nil else { return }
    tellsAt = environment.uptime + Self.tellingPause
    changed?()
  }

  /// Tells the mailbox what to retain, if it has not heard that.
  private func tell() {
    guard let mailbox, linked.contains(mailbox), let wanted = wanted(by: mailbox) else { return }
    let states = wanted.map { RetainedState(activity: $0.activity, revision: $0.revision) }
    guard told != states else { return }
    told = states
    tell(wanted, to: mailbox)
    answerBy = environment.uptime + answerTime
  }

  private func tell(_ requests: [RetainRequest], to device: Identifier) {
    if linked.contains(device) { send(.retain(requests), to: device) }
  }

  /// Nil if it cannot be said now.
  private func wanted(by mailbox: Identifier) -> [RetainRequest]? {
    guard revisions != nil, let identity, let credentials else { return nil }
    let offers = inbox.ownOffers.filter { !(isPrivate?($0.description.type, $0.bundleIdentifier) ?? false) }
    var requests: [(request: RetainRequest, mailbox: Identifier)] = []
    for (activity, revision) in revisions?.take(Array(offers.prefix(Limits.wantedOffers))) ?? [] {
      if let known = proofs.first(where: { $0.request.activity == activity && $0.request.revision == revision }) {
        requests.append(known)
        continue
      }
      do throws(SegueError) {
        let origin = RetainedOrigin(device: identity.device, activity: activity, revision: revision, proof: [])
        let proof = try RetentionProof.make(origin, for: mailbox, in: identity.account, credentials.key, security)
        requests.append((RetainRequest(activity: activity, revision: revision, proof: proof), mailbox))
      } catch {
        environment.log(.error, "mailbox: \(error.message)")
        return nil
      }
    }
    proofs = requests
    return requests.map { $0.request }
  }

  // MARK: Pushes of this device

  /// The number of a push: it rises with each. Nil without a mailbox, whose pushes it is compared with.
  func takeNumber() -> UInt64? { mailbox == nil ? nil : revisions?.takeNumber() }

  /// The request to the mailbox to keep a push. Throws BUSY, SYSTEM, RANDOM.
  func request(
    _ number: UInt64, to target: Identifier, _ activity: Identifier, app: String?, at mailbox: Identifier
  ) throws(SegueError) -> KeepPushRequest {
    guard let identity, let credentials, let order = takeNumber() else {
      throw SegueError(.busy, "push: the agent has just started, and cannot number it yet")
    }
    let push = RetainedPush(id: try environment.drawIdentifier(), target: target, app: app)
    let origin = RetainedOrigin(
      device: identity.device, activity: activity, revision: order, push: push, proof: [])
    let proof = try RetentionProof.make(origin, for: mailbox, in: identity.account, credentials.key, security)
    return KeepPushRequest(number: number, activity: activity, order: order, push: push, proof: proof)
  }

  /// A device has got an activity of this one over its own link: what a mailbox keeps of it for that device is older.
  func pushed(_ activity: Identifier, to target: Identifier) {
    for each in keptPushes { dropPushes(at: each.device) { $0.activity == activity && $0.target == target } }
  }

  private func dropPushes(at device: Identifier, where isOver: (KeptPushState) -> Bool) {
    let ids = keptPushes.first { $0.device == device }?.states.filter { isOver($0) }.map { $0.id } ?? []
    guard !ids.isEmpty, linked.contains(device) else { return }
    send(.dropPushes(ids), to: device)
  }

  /// The number of pushes of this device that a device keeps.
  func keptPushes(by device: Identifier) -> Int { keptPushes.first { $0.device == device }?.states.count ?? 0 }

  private func send(_ message: DeviceMessage, to device: Identifier) {
    do throws(SegueError) {
      send?(try message.encoding(), device)
    } catch {
      environment.log(.error, "mailbox: \(error.message)")
    }
  }

  /// The number of offers of this device that a device has, and why it does not have all; nil: it has none, and none is
  /// refused.
  func kept(by device: Identifier) -> (count: Int, problem: SegueError?)? {
    kept.first { $0.device == device }.map { ($0.states.count, $0.problem) }
  }

  // MARK: What this device retains

  private func retentionChanged() {
    guard !isClosed else { return }
    copies = inbox.retainedOffers.compactMap { record in
      record.retained.map { (record.activity, $0, record.receipt != nil) }
    }
    for device in linked {
      report(to: device)
      reportPushes(to: device)
    }
    pushesChanged?()
    tellSoon()
    changed?()
  }

  /// Tells a device what is retained for it, if it has not heard that. An activity that was continued is not offered
  /// again in that state, so it does not count.
  /// - Parameter isAnswer: it waits for that.
  private func report(to device: Identifier, isAnswer: Bool = false) {
    guard linked.contains(device) else { return }
    let states = copies.filter { $0.origin.device == device && $0.origin.push == nil && !$0.isContinued }
      .map { RetainedState(activity: $0.origin.activity, revision: $0.origin.revision) }
    let problem = inbox.retentionProblem(of: device)
    let former = reports.first { $0.device == device }
    let isSame = states == former?.states ?? [] && problem == former?.problem
    guard isAnswer || !isSame else { return }
    reports.removeAll { $0.device == device }
    reports.append((device, states, problem))
    if let problem, problem == inbox.retentionProblem { environment.log(.error, "mailbox: \(problem.message)") }
    send(.retained(states, problem), to: device)
  }

  /// The same of the pushes that it has not given to their targets.
  private func reportPushes(to device: Identifier) {
    guard linked.contains(device) else { return }
    let states = copies.compactMap { copy -> KeptPushState? in
      guard copy.origin.device == device, let push = copy.origin.push, !copy.isContinued else { return nil }
      return KeptPushState(id: push.id, activity: copy.origin.activity, target: push.target)
    }
    guard states != pushReports.first(where: { $0.device == device })?.states ?? [] else { return }
    pushReports.removeAll { $0.device == device }
    pushReports.append((device, states))
    send(.keptPushes(states), to: device)
  }

  /// Whether this device may keep a push for another one. Throws NOT_ALLOWED, NOT_FOUND.
  func check(_ origin: RetainedOrigin) throws(SegueError) {
    guard let identity, let push = origin.push, isProven(origin, by: identity.device, identity.account) else {
      throw SegueError(.notAllowed, "push: its device has not signed it for this one")
    }
    guard devices.contains(push.target), push.target != origin.device else {
      throw SegueError(.notFound, "push: the account has no such device")
    }
  }

  /// The number of offers that are retained for a device, that of its pushes which have not ended, and their bytes.
  func retained(for device: Identifier) -> (offers: Int, pushes: Int, bytes: UInt64) {
    let records = inbox.retainedOffers.filter { $0.retained?.device == device }
    let pushes = records.filter { $0.retained?.push != nil }
    return (
      records.count - pushes.count, pushes.count { $0.receipt == nil }, records.reduce(0) { $0 + $1.storedBytes }
    )
  }

  /// Why this device retains nothing; nil: it does, if another one wants that.
  var problem: SegueError? {
    inbox.retentionProblem.map { SegueError($0.status, "as a mailbox it \($0.message)") }
  }

  // MARK: Time

  var nextDeadline: Int64? { [tellsAt, answerBy].compactMap { $0 }.min() }

  func tick(_ uptime: Int64) {
    if let by = answerBy, by <= uptime {
      (told, answerBy) = (nil, nil)
      answerTime = min(2 * answerTime, Self.lastAnswerTime)
      tell()
    }
    guard let at = tellsAt, at <= uptime else { return }
    tellsAt = nil
    tell()
  }
}

extension DeviceRetention: OfferRetention {
  func retained(_ activity: Identifier) -> RetainedOrigin? { copies.first { $0.activity == activity }?.origin }

  func isGenuine(_ retained: RetainedOrigin, by mailbox: Identifier) -> Bool {
    guard !isClosed, let identity, devices.contains(retained.device), devices.contains(mailbox) else { return false }
    return isProven(retained, by: mailbox, identity.account)
  }

  private func isProven(_ retained: RetainedOrigin, by mailbox: Identifier, _ account: Identifier) -> Bool {
    if proven.contains(where: { $0.mailbox == mailbox && $0.origin.isSame(as: retained) }) { return true }
    guard RetentionProof.isGenuine(retained, by: mailbox, in: account, security) else { return false }
    proven.append((retained, mailbox))
    proven.removeFirst(max(0, proven.count - Self.provenLimit))
    return true
  }
}

extension RetainedOrigin {
  fileprivate func isSame(as other: RetainedOrigin) -> Bool {
    device == other.device && activity == other.activity && revision == other.revision && proof == other.proof
      && push == other.push
  }
}
