// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// Other devices of the user: the account, and links with its devices while this one is in it (docs/trust.md,
/// docs/device-links.md). For one thread.
public final class DeviceService: AgentTimerOwner {
  let environment: any AgentEnvironment
  private let transport: any LinkTransport
  private let security: any LinkSecurity
  let hub: any LinkHub
  let stored: any DeviceStorage
  private let resolver: (any NameResolver)?
  public let account: AccountClient
  public let joins: AccountJoins
  let watchers: StateWatchers
  public let pushes: DevicePushes
  let retention: DeviceRetention
  /// The uptime at which the number of starts is stored again, which the disk has refused; nil: it is stored, or not
  /// wanted.
  var startsAgainAt: Int64?
  var startsPause = Backoff()
  private(set) lazy var relays = DeviceRelays(hub, in: environment, after: number) { [unowned(unsafe) self] in
    self.links
  }
  /// A random one, for channels through relays.
  private let number: UInt64
  /// Nil before `open`, and after `close`.
  private var timer: (any AgentTimer)?
  public private(set) var links: DeviceLinks?
  private let listening = DevicePort()
  /// The uptime at which links that the system has refused are opened again; nil: they are open, or not wanted.
  private var opensLinksAt: Int64?
  private var linksPause = Backoff()
  public private(set) var snapshot = AccountSnapshot()
  var settings = DeviceSettings()
  /// News of other devices that are not stored yet; the uptime at which they are; and when some were stored last.
  var (learned, learnedAt, keptAt): ([DeviceRecord], Int64?, Int64) = ([], nil, -learningPause)
  /// Rations the addresses that each device tells.
  var tellings = SourceRateLimiter(each: 4, all: Limits.devices * 4)
  /// The devices for which the user has set a command, and why these could not be read.
  var (commands, commandProblem): ([DeviceCommand], SegueError?) = ([], nil)
  /// Why what the user has set could not be read.
  private var settingsProblem: SegueError?
  var copy = DeviceCopy()
  /// The time in beacons, if it differs from the time here.
  var otherClock = OtherClock()
  /// The TCP port on which this device listens; 0: none.
  public var port: UInt16 { listening.number }
  var problem: SegueError? {
    copy.problem ?? settingsProblem ?? settings.problem ?? commandProblem ?? listening.problem ?? otherClock.problem
      ?? retention.problem
  }
  var notices: AccountNotices
  private(set) var lastSigns = LastSigns()
  /// The statement of another device that this one was removed. It is not believed alone, and undoes nothing.
  var removal: SegueError?
  /// The names that the hub has for the devices.
  private var names: [(device: Identifier, name: String)] = []
  /// Nil once it is closed.
  private(set) var messages: AccountMessages?
  private var isTicking = false
  private(set) var isClosed = false

  /// - Parameters:
  ///   - hub: that of the agent.
  ///   - resolver: looks up the names of devices; nil: names are not looked up.
  /// Throws SYSTEM without random numbers.
  public convenience init(
    in environment: any AgentEnvironment, over transport: any LinkTransport, _ security: any LinkSecurity,
    _ hub: any LinkHub, _ stored: any DeviceStorage, _ inbox: any RetainingInbox,
    resolving resolver: (any NameResolver)?
  ) throws(SegueError) {
    self.init(
      environment, transport, security, hub, stored, resolver, try StateWatchers(of: "account", in: environment),
      try DevicePushes(inbox, in: environment), DeviceRetention(inbox, in: environment, security),
      try environment.drawIdentifier())
  }

  private init(
    _ environment: any AgentEnvironment, _ transport: any LinkTransport, _ security: any LinkSecurity,
    _ hub: any LinkHub, _ stored: any DeviceStorage, _ resolver: (any NameResolver)?, _ watchers: StateWatchers,
    _ pushes: DevicePushes, _ retention: DeviceRetention, _ drawn: Identifier
  ) {
    self.environment = environment
    self.transport = transport
    self.security = security
    self.hub = hub
    self.stored = stored
    self.resolver = resolver
    self.watchers = watchers
    self.pushes = pushes
    self.retention = retention
    number = drawn.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    account = AccountClient(stored)
    notices = AccountNotices(in: environment)
    joins = AccountJoins(account, in: environment, over: transport, security)
  }

  /// Reads what is stored, and links with the devices of the account if there is one. Throws SYSTEM.
  /// - Parameter ready: called once it is known what is stored. Nothing is asked before.
  public func open(_ ready: @escaping () -> Void = {}) throws(SegueError) {
    // `close` ends all that may call.
    timer = try environment.makeTimer(for: self)
    try relays.open()
    account.changed = { [unowned(unsafe) self] snapshot, events in self.apply(snapshot, events) }
    joins.changed = { [unowned(unsafe) self] in self.publish() }
    pushes.changed = { [unowned(unsafe) self] in self.setTimer() }
    // In a later turn: the hub may be in the middle of a call.
    pushes.send = { [unowned(unsafe) self] message, peer in
      self.environment.post { [self] in self.messages?.send(message, to: peer) }
    }
    openRetention()
    joins.refused = { [unowned(unsafe) self] error in
      self.notices.add(error, of: .unlisted)
      self.publish()
    }
    joins.hasJoined = { [unowned(unsafe) self] address in self.links?.noteAddress(address) }
    let messages = AccountMessages(
      account, hub, in: environment,
      certificate: { [unowned(unsafe) self] peer in self.links?.certificate(of: peer) },
      greeting: { [unowned(unsafe) self] in self.snapshot.greeting(at: self.environment.now) },
      said: { [unowned(unsafe) self] message, peer in self.heard(message, from: peer) },
      relayed: { [unowned(unsafe) self] message, peer in
        if let message { self.relays.heard(message, from: peer) } else { self.relays.began(peer) }
      })
    messages.open()
    self.messages = messages
    stored.load { [self] snapshot, kept in
      guard !isClosed else { return }
      settings = kept.settings
      settingsProblem = kept.problem
      if let problem { environment.log(.error, "\(problem.message)") }
      if case .unusable(let error) = snapshot.status { environment.log(.error, "\(error.message)") }
      hub.setPrivacy(settings.privacy)
      relays.set(isOn: settings.isRelaying)
      apply(snapshot, [])
      setMailbox()
      ready()
    }
  }

  /// Ends the links and what waits. No call may follow.
  public func close() {
    transport.commands?.name = nil
    keepLearned(.max)
    isClosed = true
    messages?.close()
    messages = nil
    account.changed = nil
    pushes.close()
    hub.setRetention(nil)
    retention.close()
    joins.close()
    closeLinks()
    relays.close()
    timer?.close()
    timer = nil
  }

  /// The client has gone.
  public func abandon(_ client: ControlClient) {
    joins.abandon(client)
    watchers.abandon(client)
    pushes.abandon(client)
  }

  // MARK: Events of the account

  private func apply(_ account: AccountSnapshot, _ events: [AccountEvent]) {
    snapshot = account
    retention.take(account)
    // First: no command is started for a device that was just revoked.
    if !commands.isEmpty, !events.isEmpty { links?.setPaths(paths) }
    for event in events { handle(event) }
    if !events.isEmpty {
      forgetOthers()
      setMailbox()
    }
    align()
    nameDevices()
    publish()
  }

  private func handle(_ event: AccountEvent) {
    switch event {
    case .membershipChanged:
      copy = DeviceCopy()
      hub.endLinks(of: nil, SegueError(.connectionUnavailable, "the other device has left the account"))
      closeLinks()
      align()
      removal = nil
    case .cut(let peer):
      // It may be in the account all the same: its certificate is not valid now.
      if !snapshot.devices.contains(where: { $0.id == peer }), let told = try? DeviceMessage.removed.encoding() {
        hub.sendAccount(told, to: peer)
      }
      hub.endLinks(of: peer, SegueError(.notAllowed, "this device was removed from the account"))
    case .credentialsChanged: renewLinks()
    // A new epoch comes with new revocations: `credentialsChanged` has passed on both.
    case .devicesChanged:
      links?.setDevices(snapshot.devices.map { $0.id })
      relays.linksChanged()
      // A command leads to a device of the account, or is none.
      if !commands.isEmpty { links?.setPaths(paths) }
    case .send(let peer, let message): messages?.send(message, to: peer)
    case .sendToAll(let except, let message):
      for peer in links?.devices ?? [] where peer != except { messages?.send(message, to: peer) }
    case .notice(let error, let source): notices.add(error, of: source)
    case .joinSend, .joinAsks, .joinShows: joins.handle(event)
    case .joinEnded(_, let error):
      if let error { notices.add(error, of: .unlisted) }
      joins.handle(event)
    }
  }

  // MARK: Links

  /// Opens or closes the links, as the account has it.
  private func align() {
    guard let credentials = snapshot.credentials, !isClosed else {
      opensLinksAt = nil
      return closeLinks()
    }
    if links == nil { openLinks(credentials) }
    links?.invites = snapshot.invites
  }

  private func openLinks(_ credentials: DeviceCredentials) {
    opensLinksAt = nil
    do throws(SegueError) {
      let links = try DeviceLinks(
        in: environment, over: transport, security, hub, credentials, snapshot.epochs,
        isAnnounced: settings.isAnnounced, resolving: resolver)
      // `close` ends all that may call.
      links.changed = { [unowned(unsafe) self] in self.linkChanged($0, $1, heardAt: $2) }
      links.refused = { [unowned(unsafe) self] peer in self.noteRemoval(by: peer) }
      links.joined = { [unowned(unsafe) self] connection in self.joins.accept(connection) }
      links.networkChanged = { [unowned(unsafe) self] in self.networkChanged() }
      links.moved = { [unowned(unsafe) self] peer, hasEnded in
        if hasEnded { self.messages?.linkChanged(peer) }
        self.relays.linksChanged()
        self.publish()
      }
      links.reached = { [unowned(unsafe) self] peer, address in self.reached(peer, at: address) }
      links.otherTime = { [unowned(unsafe) self] date in self.heardOtherTime(date) }
      links.greeting = { [unowned(unsafe) self] in self.snapshot.greeting(at: self.environment.now) }
      links.heardUnlisted = { [unowned(unsafe) self] message, shown, judged in
        self.account.perform(
          size: message.count,
          { account, now in
            account.take(shown)
            return account.receive(message, from: shown.encoding, at: now)
          }, judged)
      }
      links.turnedAway = { [unowned(unsafe) self] shown in
        self.account.perform({ account, now in account.refuse(shown.encoding, at: now) })
      }
      links.copied = { [unowned(unsafe) self] device, path in self.isCopied(device, path) }
      links.relays = relays
      self.links = links
      try listening.open(links, settings)
      listens()
      links.setDevices(snapshot.devices.map { $0.id })
      transport.commands?.name = { [unowned(unsafe) self] device in self.name(of: device) }
      dialAgain()
      readCommands()
      linksPause.end()
    } catch {
      listening.fail(error)
      environment.log(.error, "other devices: \(error.message)")
      closeLinks()
      opensLinksAt = linksPause.take(after: error).map { environment.uptime + $0 }
    }
  }

  /// It listens at `port` from now on.
  /// - Parameter done: called once the invites that name another port are void.
  private func listens(_ done: @escaping () -> Void = {}) {
    account.perform({ [port] account, now in account.cancelInvites(exceptFor: port, at: now) }, done)
    keep { [port] settings in if settings.port == 0 { settings.lastPort = port } }
  }

  private func closeLinks() {
    guard let former = links else { return }
    links = nil
    listening.close()
    former.close()
    relays.linksChanged()
    retentionLinksChanged(nil, false)
    keepPushes()
  }

  private func renewLinks() {
    guard let links, let credentials = snapshot.credentials else { return align() }
    do throws(SegueError) {
      try links.renew(credentials, snapshot.epochs)
    } catch {
      notices.add(error)
      closeLinks()
    }
  }

  private func linkChanged(_ peer: Identifier, _ isLinked: Bool, heardAt: Int64) {
    if isLinked { removal = nil }
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
  private func networkChanged() {
    dialAgain()
    tellAddresses(links?.devices ?? [])
    publish()
  }

  /// Addresses for an invite. A device that joins tries each interface of its own.
  public var inviteAddresses: [String] { ownAddresses.prefix(Limits.inviteAddresses).map { $0.host } }

  // MARK: Settings

  /// Changes settings, and answers when they are stored.
  public func set(_ request: Value, _ answer: @escaping ControlClient.Answer) {
    do throws(SegueError) { try checkMailbox(request) } catch { return answer(.failure(error)) }
    stored.change({ settings throws(SegueError) in try settings.change(request) }) { [self] result in
      guard case .success(let changed) = result else { return answer(result.map { _ in .emptyDictionary }) }
      guard !isClosed else { return }
      let former = settings
      adopt(changed)
      settingsProblem = nil
      hub.setPrivacy(settings.privacy)
      relays.set(isOn: settings.isRelaying)
      setMailbox()
      var isMoved = false
      if let links {
        links.setAnnounced(settings.isAnnounced)
        // A port that was in use is tried again.
        if settings.port != former.port || (request["port"] != nil && listening.problem != nil) {
          isMoved = listening.move(links, settings)
        }
        dialAgain()
        if isMoved || settings.isAnnounced != former.isAnnounced { tellAddresses(links.devices) }
      }
      align()
      publish()
      guard isMoved else { return answer(.success(.emptyDictionary)) }
      listens { answer(.success(.emptyDictionary)) }
    }
  }

  // MARK: Time

  public func timerIsDue(_ timer: any AgentTimer) {
    let uptime = environment.uptime
    joins.tick(uptime)
    watchers.tick(uptime)
    pushes.tick(uptime)
    retention.tick(uptime)
    tickRetention(uptime)
    keepLearned(uptime)
    // Both are asked: one may end while the other one lasts.
    let ended = [copy.expire(at: uptime), otherClock.expire(at: uptime)]
    if ended.contains(true) { publish() }
    if let at = opensLinksAt, at <= uptime {
      align()
      publish()
    }
    if let deadline = accountDeadline, deadline <= uptime, !isTicking {
      isTicking = true
      account.perform({ account, now in account.tick(at: now) }) { [self] in
        isTicking = false
        ticked = environment.uptime
        setTimer()
      }
    }
    setTimer()
  }

  /// The uptime at which the account was last told of the time.
  private var ticked: Int64 = 0

  private var accountDeadline: Int64? { snapshot.nextTick(after: ticked) }

  func setTimer() {
    guard !isClosed else { return }
    var next = isTicking ? nil : accountDeadline
    for deadline in [
      joins.nextDeadline, watchers.nextDeadline, pushes.nextDeadline, copy.deadline, otherClock.deadline,
      opensLinksAt, learnedAt, retention.nextDeadline, startsAgainAt,
    ] {
      if let deadline { next = min(next ?? deadline, deadline) }
    }
    timer?.set(next)
  }

  // MARK: Pushes

  /// Has another device continue an offer of this one (R3.15).
  /// - Parameters:
  ///   - app: the bundle identifier of the app there; nil: whatever fits.
  ///   - timeout: milliseconds for the answer, in which the user there may be asked.
  ///   - answer: called once: the continuation has begun there, or why not. Not called if the client goes.
  /// Throws NOT_FOUND, INVALID_ARGUMENT, CONNECTION_UNAVAILABLE.
  public func push(
    _ activity: Identifier, to peer: Identifier, app: String?, timeout: Int64?, for client: ControlClient,
    _ answer: @escaping ControlClient.Answer
  ) throws(SegueError) {
    guard let found = snapshot.devices.first(where: { $0.id == peer }) else {
      throw SegueError(.notFound, "device: the account has no such device")
    }
    guard !found.isThisDevice else { throw SegueError(.invalidArgument, "device: is this one") }
    let isLinked = links?.certificate(of: peer) != nil
    let mailbox = isLinked ? nil : retention.mailbox
    let request = OutgoingPushes.Request(
      activity: activity, timeout: timeout, client: client, privacy: settings.privacy
    ) { [self] result in
      if isLinked, case .success = result { retention.pushed(activity, to: peer) }
      answer(ControlClient.map(result) { made throws(SegueError) in try value(of: made, at: mailbox) })
    }
    guard isLinked else { return try keepPush(request, to: peer, found.name, app: app, answer) }
    pushes.outgoing.push(request, to: peer, found.name) { [retention] number, milliseconds throws(SegueError) in
      .push(
        PushRequest(
          number: number, activity: activity, app: app, milliseconds: milliseconds, order: retention.takeNumber()))
    }
  }

  /// Ends what waits for devices that are not linked any longer: not at once, as a link may take another one's place.
  private func keepPushes() {
    environment.post { [self] in if !isClosed { pushes.keep(links?.devices ?? []) } }
  }

  // MARK: Names

  /// Tells the hub the devices of the account.
  private func nameDevices() {
    let found = snapshot.devices
    let names = found.map { (device: $0.id, name: $0.name) }
    guard
      !names.elementsEqual(self.names, by: { $0.device == $1.device && Text.isSame($0.name, $1.name) })
    else { return }
    self.names = names
    (pushes.names, relays.names) = (names, names)
    let own = found.first { $0.isThisDevice }?.id
    hub.setDevices(own.map { AccountDevices(own: $0, all: names) })
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
