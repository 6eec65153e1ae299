// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// Other devices of the user: the account, and links with its devices while this one is in it (docs/trust.md,
/// docs/device-links.md). For one thread.
public final class DeviceService: AgentTimerOwner {
  private enum Phase {
    case idle
    case open(Opened)
    case closed
  }

  /// The parts that are there between `open` and `close`.
  private struct Opened {
    let timer: any AgentTimer
    let messages: AccountMessages
  }

  let environment: any AgentEnvironment
  private let transport: any LinkTransport
  private let security: any LinkSecurity
  let hub: any LinkHub
  let stored: any DeviceStorage
  let inbox: any RetainingInbox
  private let resolver: (any NameResolver)?
  public let account: AccountClient
  public let joins: AccountJoins
  let watchers: StateWatchers
  public let pushes: DevicePushes
  let retention: DeviceRetention
  let relays: DeviceRelays
  public private(set) var links: DeviceLinks?
  let listening = DevicePort()
  private var phase = Phase.idle
  public internal(set) var snapshot = AccountSnapshot()
  /// The settings of the user, with what was learned since they were stored.
  var currentSettings = CurrentSettings()
  /// The devices for which the user has set a command, or why these could not be read.
  var commands: Result<[DeviceCommand], SegueError> = .success([])
  var problems = DeviceProblems()
  var notices: AccountNotices
  private(set) var lastSigns = LastSigns()
  /// The opening of the links, which the system may refuse.
  private var opening = Retry()
  /// The counting of this start on the disk, which may refuse it.
  var startCounting = Retry()
  private var ticks = AccountTicks()
  /// The TCP port on which this device listens; 0: none.
  public var port: UInt16 { listening.number }
  var problem: SegueError? {
    problems.copy.problem ?? currentSettings.problem ?? settings.problem ?? commands.problem ?? listening.problem
      ?? problems.otherClock.problem ?? retention.problem
  }
  var settings: DeviceSettings { currentSettings.all }
  private var opened: Opened? { if case .open(let opened) = phase { opened } else { nil } }
  /// Nil before `open`, and after `close`.
  var messages: AccountMessages? { opened?.messages }
  var isClosed: Bool { if case .closed = phase { true } else { false } }

  /// - Parameters:
  ///   - hub: that of the agent.
  ///   - resolver: looks up the names of devices; nil: names are not looked up.
  /// Throws SYSTEM without random numbers.
  public convenience init(
    in environment: any AgentEnvironment, over transport: any LinkTransport, _ security: any LinkSecurity,
    _ hub: any LinkHub, _ stored: any DeviceStorage, _ inbox: any RetainingInbox,
    resolving resolver: (any NameResolver)?
  ) throws(SegueError) {
    let retention = DeviceRetention(inbox, in: environment, security)
    self.init(
      environment, transport, security, hub, stored, inbox, resolver,
      try StateWatchers(of: "account", in: environment), try DevicePushes(inbox, retention, in: environment), retention,
      try environment.drawIdentifier())
  }

  private init(
    _ environment: any AgentEnvironment, _ transport: any LinkTransport, _ security: any LinkSecurity,
    _ hub: any LinkHub, _ stored: any DeviceStorage, _ inbox: any RetainingInbox, _ resolver: (any NameResolver)?,
    _ watchers: StateWatchers, _ pushes: DevicePushes, _ retention: DeviceRetention, _ drawn: Identifier
  ) {
    self.environment = environment
    self.transport = transport
    self.security = security
    self.hub = hub
    self.stored = stored
    self.inbox = inbox
    self.resolver = resolver
    self.watchers = watchers
    self.pushes = pushes
    self.retention = retention
    relays = DeviceRelays(hub, in: environment, after: drawn.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    account = AccountClient(stored)
    notices = AccountNotices(in: environment)
    joins = AccountJoins(account, in: environment, over: transport, security)
  }

  /// Reads what is stored, and links with the devices of the account if there is one. Throws SYSTEM.
  /// - Parameter ready: called once it is known what is stored. Nothing is asked before.
  public func open(_ ready: @escaping () -> Void = {}) throws(SegueError) {
    // `close` ends all that may call.
    let timer = try environment.makeTimer(for: self)
    let messages = AccountMessages(account, hub, in: environment, for: self)
    phase = .open(Opened(timer: timer, messages: messages))
    try relays.open()
    account.owner = self
    joins.owner = self
    pushes.open(for: self)
    openRetention()
    messages.open()
    stored.load { [self] snapshot, kept in
      guard !isClosed else { return }
      currentSettings.load(kept)
      if let problem { environment.log(.error, "\(problem.message)") }
      if case .unusable(let error) = snapshot.status { environment.log(.error, "\(error.message)") }
      hub.setPrivacy(settings.privacy)
      relays.set(isOn: settings.isRelaying)
      used(snapshot, [])
      setMailbox()
      ready()
    }
  }

  /// Ends the links and what waits. No call may follow.
  public func close() {
    transport.commands?.name = nil
    keepLearned(isLast: true)
    let former = opened
    phase = .closed
    former?.messages.close()
    account.owner = nil
    inbox.observer = nil
    pushes.close()
    hub.setRetention(nil)
    retention.close()
    joins.close()
    closeLinks()
    relays.close()
    former?.timer.close()
  }

  /// The client has gone.
  public func abandon(_ client: ControlClient) {
    joins.abandon(client)
    watchers.abandon(client)
    pushes.abandon(client)
  }

  // MARK: Links

  /// Opens or closes the links, as the account has it.
  func align() {
    guard let credentials = snapshot.credentials, !isClosed else {
      opening.cancel()
      return closeLinks()
    }
    if links == nil { openLinks(credentials) }
  }

  private func openLinks(_ credentials: DeviceCredentials) {
    opening.begin()
    do throws(SegueError) {
      let links = try DeviceLinks(
        in: environment, over: transport, security, hub, credentials, snapshot.epochs,
        isAnnounced: settings.isAnnounced, resolving: resolver, for: self)
      links.relays = relays
      (self.links, relays.links) = (links, links)
      try listening.open(links, settings)
      listens()
      links.setDevices(snapshot.devices.map { $0.id })
      transport.commands?.name = { [self] device in name(of: device) }
      dialAgain()
      readCommands()
      opening.succeed()
    } catch {
      listening.fail(error)
      environment.log(.error, "other devices: \(error.message)")
      closeLinks()
      opening.fail(error, at: environment.uptime)
    }
  }

  /// It listens at `port` from now on.
  /// - Parameter done: called once the invites that name another port are void.
  func listens(_ done: @escaping () -> Void = {}) {
    account.perform({ [port] account, now in account.cancelInvites(exceptFor: port, at: now) }, done)
    keep { [port] settings in if settings.port == 0 { settings.lastPort = port } }
  }

  /// Closes the links, if there are some.
  func closeLinks() {
    guard let former = links else { return }
    (links, relays.links) = (nil, nil)
    listening.close()
    former.close()
    relays.linksChanged()
    retentionLinksChanged(nil, false)
    keepPushes()
  }

  /// Has the links use the present credentials.
  func renewLinks() {
    guard let links, let credentials = snapshot.credentials else { return align() }
    do throws(SegueError) {
      try links.renew(credentials, snapshot.epochs)
    } catch {
      notices.add(error)
      closeLinks()
    }
  }

  public func linkHasChanged(with peer: Identifier, _ isLinked: Bool, heardAt: Int64) {
    if isLinked { problems.removal = nil }
    messages?.linkChanged(peer)
    relays.linksChanged()
    if isLinked {
      tellOfCopy([peer])
      tellAddresses([peer])
    }
    retentionLinksChanged(peer, isLinked)
    lastSigns.note(peer, heardAt: heardAt, environment.now)
    keepPushes()
    publish()
  }

  /// Addresses may have waited for an interface.
  public func networkHasChanged() {
    dialAgain()
    tellAddresses(links?.devices ?? [])
    publish()
  }

  /// Addresses for an invite. A device that joins tries each interface of its own.
  public var inviteAddresses: [String] { ownAddresses.prefix(Limits.inviteAddresses).map { $0.host } }

  // MARK: Time

  public func timerIsDue(_ timer: any AgentTimer) {
    let uptime = environment.uptime
    joins.tick(uptime)
    watchers.tick(uptime)
    pushes.tick(uptime)
    retention.tick(uptime)
    tickRetention(uptime)
    keepLearned()
    if problems.expire(at: uptime) { publish() }
    if opening.isDue(at: uptime) {
      align()
      publish()
    }
    if let deadline = ticks.deadline(of: snapshot), deadline <= uptime {
      ticks.begin()
      account.perform({ account, now in account.tick(at: now) }) { [self] in
        ticks.end(at: environment.uptime)
        setTimer()
      }
    }
    setTimer()
  }

  /// Sets the timer for the next deadline of all parts.
  func setTimer() {
    let deadlines = [
      joins.nextDeadline, watchers.nextDeadline, pushes.nextDeadline, opening.deadline,
      currentSettings.deadline, retention.nextDeadline, startCounting.deadline, ticks.deadline(of: snapshot),
    ]
    opened?.timer.set((deadlines + problems.deadlines).compactMap { $0 }.min())
  }

  // MARK: State

  /// Tells those who wait, if there is something new. A later request gets the state of its own time.
  func publish() {
    if watchers.isAwaited { renewState() }
    setTimer()
  }

  private func renewState() {
    guard !isClosed else { return }
    do throws(SegueError) {
      try watchers.publish(try state())
    } catch {
      environment.log(.error, "account: \(error.message)")
    }
  }

  /// For a new client: sets the timer for it.
  public func watch(
    after: Int64?, timeout: Int64, for client: ControlClient, _ answer: @escaping ControlClient.Answer
  ) throws(SegueError) {
    renewState()
    try watchers.get(after: after, timeout: timeout, for: client, answer)
    setTimer()
  }
}
