// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The offers and pushes that devices of the account keep for each other while one is away (R14.5): those that this one
/// has its mailbox retain, and those that it retains for others. For one thread.
final class DeviceRetention {
  private let inbox: any RetainingInbox
  private let environment: any AgentEnvironment
  private let security: any LinkSecurity
  /// The owner outlives this object's use of it. Nil before `open` and after `close`.
  unowned(unsafe) var owner: (any DeviceRetentionOwner)?
  /// The account as it was read last.
  private var account = AccountSnapshot()
  /// The devices that are linked.
  private var linked: [Identifier] = []
  /// The last reports of other devices about what is this one's, and those to them about what is theirs.
  private var received = RetentionReports()
  private var sent = RetentionReports()
  private var proven = ProvenOrigins()
  /// The offers and pushes that this device retains.
  private var copies: [(activity: Identifier, origin: RetainedOrigin, isContinued: Bool)] = []

  // The offers of this device that the mailbox retains.

  /// The device that the user has chosen, if it is in the account.
  private(set) var mailbox: Identifier?
  private var list = MailboxList()
  private var isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?
  private var revisions: OwnRevisions?

  init(_ inbox: any RetainingInbox, in environment: any AgentEnvironment, _ security: any LinkSecurity) {
    (self.inbox, self.environment, self.security) = (inbox, environment, security)
  }

  /// Has the owner carry out what follows, until `close`.
  func open(for owner: any DeviceRetentionOwner) { self.owner = owner }
  /// Calls the owner no longer.
  func close() { owner = nil }

  // MARK: The account, and the settings

  /// The account has changed: devices, or credentials.
  func take(_ account: AccountSnapshot) {
    // A file that cannot be read says nothing of who was removed.
    if case .unusable = account.status, account.identity == nil { return }
    self.account = account
    let devices = devices
    // A proof may have been made with another key, or be of a device that was removed.
    proven.keep(devices, own: identity?.device)
    received.keep(devices)
    sent.keep(devices)
    tellInbox()
  }

  private var identity: DeviceIdentity? { account.identity }
  /// The others of the account.
  private var devices: [Identifier] { account.devices.filter { !$0.isThisDevice }.map { $0.id } }

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
      list.mailboxChanged()
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
    if let mailbox, !linked.contains(mailbox) { list.linkEnded() }
    sent.keep(linked)
    tellInbox()
  }

  /// A link with a device has begun.
  func began(_ device: Identifier) {
    if device == mailbox {
      list.linkBegan()
      tellSoon()
    }
    // Each says anew what it has of the other one, if it has something.
    received.remove(device)
    sent.remove(device)
    retentionChanged()
  }

  private func tellInbox() {
    let devices = devices
    let name = account.devices.first { $0.isThisDevice }?.name
    inbox.setDevices(devices, linked: linked.filter { devices.contains($0) }, name: name)
  }

  // MARK: Messages

  /// - Parameter device: as its certificate says.
  func handle(_ message: DeviceMessage, from device: Identifier) {
    switch message {
    case .retain(let requests): retain(requests, for: device)
    case .retained(let states, let problem): heard(states, problem, by: device)
    case .keptPushes(let states):
      received.set(states, of: device)
      // One that was the mailbox, and was not linked when that ended.
      if device != mailbox { dropPushes(at: device) { _ in true } }
      owner?.publish()
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
    if device == mailbox { list.answered() }
    let former = received.offers(of: device)?.problem
    received.set(states, problem, of: device)
    if let problem, problem != former, device == mailbox { environment.log(.error, "the mailbox \(problem.message)") }
    // One that was the mailbox, and was not linked when that ended.
    if device != mailbox, !states.isEmpty { tell([], to: device) }
    owner?.publish()
  }

  // MARK: What is retained for this device

  private func tellSoon() {
    if mailbox != nil, list.tellSoon(at: environment.uptime) { owner?.publish() }
  }

  /// Tells the mailbox what to retain, if it has not heard that.
  private func tell() {
    guard let mailbox, linked.contains(mailbox), let wanted = wanted(by: mailbox) else { return }
    if list.take(wanted, at: environment.uptime) { tell(wanted, to: mailbox) }
  }

  private func tell(_ requests: [RetainRequest], to device: Identifier) {
    if linked.contains(device) { send(.retain(requests), to: device) }
  }

  /// Nil if it cannot be said now.
  private func wanted(by mailbox: Identifier) -> [RetainRequest]? {
    guard revisions != nil, let identity, let credentials = account.credentials else { return nil }
    let offers = inbox.ownOffers.filter { !(isPrivate?($0.description.type, $0.bundleIdentifier) ?? false) }
    var requests: [RetainRequest] = []
    for (activity, revision) in revisions?.take(Array(offers.prefix(Limits.wantedOffers))) ?? [] {
      if let known = list.request(for: activity, revision) {
        requests.append(known)
        continue
      }
      do throws(SegueError) {
        let origin = RetainedOrigin(device: identity.device, activity: activity, revision: revision, proof: [])
        let proof = try RetentionProof.make(origin, for: mailbox, in: identity.account, credentials.key, security)
        requests.append(RetainRequest(activity: activity, revision: revision, proof: proof))
      } catch {
        environment.log(.error, "mailbox: \(error.message)")
        return nil
      }
    }
    return requests
  }

  // MARK: Pushes of this device

  /// The number of a push: it rises with each. Nil without a mailbox, whose pushes it is compared with.
  func takeNumber() -> UInt64? { mailbox == nil ? nil : revisions?.takeNumber() }

  /// The request to the mailbox to keep a push. Throws BUSY, SYSTEM, RANDOM.
  func request(
    _ number: UInt64, to target: Identifier, _ activity: Identifier, app: String?, at mailbox: Identifier
  ) throws(SegueError) -> KeepPushRequest {
    guard let identity, let credentials = account.credentials, let order = takeNumber() else {
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
    for each in received.pushes { dropPushes(at: each.device) { $0.activity == activity && $0.target == target } }
  }

  private func dropPushes(at device: Identifier, where isOver: (KeptPushState) -> Bool) {
    let ids = received.pushes(of: device).filter { isOver($0) }.map { $0.id }
    guard !ids.isEmpty, linked.contains(device) else { return }
    send(.dropPushes(ids), to: device)
  }

  /// The number of pushes of this device that a device keeps.
  func keptPushes(by device: Identifier) -> Int { received.pushes(of: device).count }

  private func send(_ message: DeviceMessage, to device: Identifier) {
    do throws(SegueError) {
      owner?.post(try message.encoding(), to: device)
    } catch {
      environment.log(.error, "mailbox: \(error.message)")
    }
  }

  /// The number of offers of this device that a device has, and why it does not have all; nil: it has none, and none is
  /// refused.
  func kept(by device: Identifier) -> (count: Int, problem: SegueError?)? {
    received.offers(of: device).map { ($0.states.count, $0.problem) }
  }

  // MARK: What this device retains

  /// The offers of apps of this device may have changed, or what this device retains.
  func retentionChanged() {
    guard let owner else { return }
    copies = inbox.retainedOffers.compactMap { record in
      record.retained.map { (record.activity, $0, record.receipt != nil) }
    }
    for device in linked {
      report(to: device)
      reportPushes(to: device)
    }
    owner.deliverPushes()
    tellSoon()
    owner.publish()
  }

  /// Tells a device what is retained for it, if it has not heard that. An activity that was continued is not offered
  /// again in that state, so it does not count.
  /// - Parameter isAnswer: it waits for that.
  private func report(to device: Identifier, isAnswer: Bool = false) {
    guard linked.contains(device) else { return }
    let states = copies.filter { $0.origin.device == device && $0.origin.push == nil && !$0.isContinued }
      .map { RetainedState(activity: $0.origin.activity, revision: $0.origin.revision) }
    let problem = inbox.retentionProblem(of: device)
    let former = sent.offers(of: device)
    let isSame = states == former?.states ?? [] && problem == former?.problem
    guard isAnswer || !isSame else { return }
    sent.set(states, problem, of: device)
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
    guard states != sent.pushes(of: device) else { return }
    sent.set(states, of: device)
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

  var nextDeadline: Int64? { list.nextDeadline }

  func tick(_ uptime: Int64) { if list.takeDue(at: uptime) { tell() } }
}

extension DeviceRetention: OfferRetention {
  func retained(_ activity: Identifier) -> RetainedOrigin? { copies.first { $0.activity == activity }?.origin }

  func isGenuine(_ retained: RetainedOrigin, by mailbox: Identifier) -> Bool {
    let devices = devices
    guard owner != nil, let identity, devices.contains(retained.device), devices.contains(mailbox) else { return false }
    return isProven(retained, by: mailbox, identity.account)
  }

  private func isProven(_ retained: RetainedOrigin, by mailbox: Identifier, _ account: Identifier) -> Bool {
    if proven.contains(retained, for: mailbox) { return true }
    guard RetentionProof.isGenuine(retained, by: mailbox, in: account, security) else { return false }
    proven.add(retained, for: mailbox)
    return true
  }
}
