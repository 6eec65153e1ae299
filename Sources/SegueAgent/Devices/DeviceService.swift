import SegueEngine
import SegueModel
import SegueRuntime
import SegueTransport
import SegueTrust

/// Other devices of the user: the account, and links with its devices while this one is in it (docs/trust.md,
/// docs/device-links.md). For the loop.
final class DeviceService {
  private let loop: Loop
  private let device: Device
  let account: AccountClient
  let joins: AccountJoins
  let watchers: StateWatchers
  let pushes: DevicePushes
  private let timer: LoopTimer
  private(set) var links: DeviceLinks?
  /// Where this device listens; 0: nowhere.
  private(set) var port: UInt16 = 0
  private(set) var snapshot = AccountSnapshot()
  private(set) var settings = DeviceSettings()
  /// Why what the user has set could not be read, or cannot be done.
  private var (settingsProblem, portProblem): (SegueError?, SegueError?)
  /// Another machine has the keys of this device.
  private var copy: (problem: SegueError, until: Int64)?
  private var toldOfCopyAt: Int64?
  /// Milliseconds for which that is said after the other machine was met last, and between two messages about it.
  private static let copyTime: Int64 = 600_000
  private static let copyPause: Int64 = 3_600_000
  /// What beacons say of the time.
  private var otherClock = OtherClock()
  var problem: SegueError? {
    copy?.problem ?? settingsProblem ?? settings.problem ?? portProblem ?? otherClock.problem(at: Clock.uptime)
  }
  private(set) var notices = AccountNotices()
  /// When devices were linked, or no longer, in this run.
  private(set) var lastSeen: [(device: Identifier, date: Double)] = []
  /// What another device says of this one: it is not believed alone, and undoes nothing.
  private(set) var removal: SegueError?
  /// What the hub calls the devices.
  private var names: [(device: Identifier, name: String)] = []
  /// Nil once it is closed.
  private var messages: AccountMessages?
  private var isTicking = false
  private var isClosed = false
  /// Who asks before it is known what is stored: "in no account" would be wrong. Nil once it is known.
  private var early: [(asker: Asker, ask: () -> Void)]? = []
  private static let earlyLimit = 64

  /// - Parameters:
  ///   - thread: has been started.
  ///   - device: carries the hub.
  /// Throws SYSTEM.
  convenience init(
    _ thread: AccountThread, on loop: Loop, _ device: Device, _ inbox: InboxService
  ) throws(SegueError) {
    self.init(
      AccountClient(thread, on: loop), loop, device, try LoopTimer(), try StateWatchers(of: "account"),
      try DevicePushes(inbox))
  }

  private init(
    _ account: AccountClient, _ loop: Loop, _ device: Device, _ timer: LoopTimer, _ watchers: StateWatchers,
    _ pushes: DevicePushes
  ) {
    self.account = account
    self.loop = loop
    self.device = device
    self.timer = timer
    self.watchers = watchers
    self.pushes = pushes
    joins = AccountJoins(account, on: loop)
  }

  /// Reads what is stored, and links with the devices of the account if there is one. Throws SYSTEM.
  func open() throws(SegueError) {
    // `close` ends all that may call.
    try timer.start(on: loop) { [unowned(unsafe) self] in self.tick() }
    account.changed = { [unowned(unsafe) self] snapshot, events in self.apply(snapshot, events) }
    joins.changed = { [unowned(unsafe) self] in self.publish() }
    pushes.changed = { [unowned(unsafe) self] in self.setTimer() }
    // In a later turn: the hub may be in the middle of a call.
    pushes.send = { [unowned(unsafe) self] message, peer in
      self.loop.post { [self] in if !isClosed { device.sendAccount(message, to: peer) } }
    }
    joins.refused = { [unowned(unsafe) self] error in
      self.notices.add(error)
      self.publish()
    }
    joins.hasJoined = { [unowned(unsafe) self] address in self.links?.noteAddress(address) }
    let messages = AccountMessages(
      account, device, on: loop,
      certificate: { [unowned(unsafe) self] peer in self.links?.certificate(of: peer) },
      greeting: { [unowned(unsafe) self] in self.snapshot.greeting(at: Clock.now) },
      said: { [unowned(unsafe) self] message, peer in self.heard(message, from: peer) })
    messages.open()
    self.messages = messages
    account.load { [self] snapshot, kept in
      guard !isClosed else { return }
      settings = kept.settings
      settingsProblem = kept.problem
      if let problem { Log.error("\(problem.message)") }
      if case .unusable(let error) = snapshot.status { Log.error("\(error.message)") }
      device.setPrivacy(settings.privacy)
      let due = early ?? []
      early = nil
      apply(snapshot, [])
      for each in due { each.ask() }
    }
  }

  /// Ends the links and what waits. No call may follow.
  func close() {
    isClosed = true
    early = nil
    messages?.close()
    messages = nil
    account.changed = nil
    pushes.close()
    joins.close()
    // What the account's thread still answers finds none of these.
    (joins.changed, joins.refused, joins.hasJoined) = (nil, nil, nil)
    closeLinks()
    timer.close()
  }

  /// The asker has gone.
  func abandon(_ asker: Asker) {
    joins.abandon(asker)
    watchers.abandon(asker)
    pushes.abandon(asker)
    early?.removeAll { $0.asker.number == asker.number }
  }

  // MARK: What the account says

  private func apply(_ account: AccountSnapshot, _ events: [AccountEvent]) {
    snapshot = account
    for event in events { handle(event) }
    align()
    nameDevices()
    publish()
  }

  private func handle(_ event: AccountEvent) {
    switch event {
    case .membershipChanged:
      (copy, toldOfCopyAt) = (nil, nil)
      device.endLinks(of: nil, SegueError(.connectionUnavailable, "the other device has left the account"))
      closeLinks()
      align()
      removal = nil
    case .cut(let peer):
      // It may be in the account all the same: its certificate is not valid now.
      if !snapshot.devices.contains(where: { $0.id == peer }), let told = try? DeviceMessage.removed.encoding() {
        device.sendAccount(told, to: peer)
      }
      device.endLinks(of: peer, SegueError(.notAllowed, "this device was removed from the account"))
    case .credentialsChanged: renewLinks()
    // A new epoch comes with new revocations: `credentialsChanged` has passed on both.
    case .devicesChanged: links?.setDevices(snapshot.devices.map { $0.id })
    case .send(let peer, let message): messages?.send(message, to: peer)
    case .sendToAll(let except, let message):
      for peer in links?.devices ?? [] where peer != except { messages?.send(message, to: peer) }
    case .notice(let error): notices.add(error)
    case .joinSend, .joinAsks, .joinShows: joins.handle(event)
    case .joinEnded(_, let error):
      if let error { notices.add(error) }
      joins.handle(event)
    }
  }

  // MARK: Links

  /// Opens or closes the links, as the account has it.
  private func align() {
    guard let credentials = snapshot.credentials, !isClosed else { return closeLinks() }
    if links == nil { openLinks(credentials) }
    links?.invites = snapshot.invites
  }

  private func openLinks(_ credentials: DeviceCredentials) {
    do throws(SegueError) {
      let links = try DeviceLinks(
        on: loop, device, credentials, snapshot.epochs, isAnnounced: settings.isAnnounced)
      // `close` ends all that may call.
      links.changed = { [unowned(unsafe) self] peer, isLinked in self.linkChanged(peer, isLinked) }
      links.refused = { [unowned(unsafe) self] peer in self.noteRemoval(by: peer) }
      links.joined = { [unowned(unsafe) self] connection in self.joins.accept(connection) }
      links.networkChanged = { [unowned(unsafe) self] in self.networkChanged() }
      links.moved = { [unowned(unsafe) self] _ in self.publish() }
      links.otherTime = { [unowned(unsafe) self] date in self.heardOtherTime(date) }
      links.greeting = { [unowned(unsafe) self] in self.snapshot.greeting(at: Clock.now) }
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
      links.copied = { [unowned(unsafe) self] device, address in self.isCopied(device, address) }
      self.links = links
      portProblem = nil
      port = try listen(links)
      listens()
      links.setDevices(snapshot.devices.map { $0.id })
      links.setAddresses(settings.dialled)
    } catch {
      portProblem = error
      Log.error("other devices: \(error.message)")
      closeLinks()
    }
  }

  /// It listens at `port` from now on.
  private func listens() {
    account.perform({ [port] account, now in account.cancelInvites(exceptFor: port, at: now) })
    account.keepPort(port) { [self] result in
      switch result {
      case .success(let kept): settings = kept
      case .failure(let error): Log.error("\(error.message)")
      }
    }
  }

  /// Listens where the user wants it now. What is linked stays so.
  private func listenAnew(_ links: DeviceLinks) {
    portProblem = nil
    guard settings.port > 0, settings.port != port else { return listens() }
    do throws(SegueError) {
      port = try links.move(to: settings.port)
      listens()
    } catch { portProblem = stays(after: error) }
  }

  private func stays(after error: SegueError) -> SegueError {
    SegueError(
      error.status,
      "\(error.message); this device listens at port \(Int(port)) until the other one is free and set again")
  }

  /// Listens where the user wants, else where it did before, else anywhere.
  private func listen(_ links: DeviceLinks) throws(SegueError) -> UInt16 {
    let wanted = settings.port > 0 ? settings.port : settings.lastPort
    guard wanted > 0 else { return try links.open(port: 0) }
    do throws(SegueError) {
      return try links.open(port: wanted)
    } catch {
      guard !links.isListening else { throw error }
      port = try links.open(port: 0)
      if settings.port > 0 { portProblem = stays(after: error) }
      return port
    }
  }

  private func closeLinks() {
    guard let former = links else { return }
    links = nil
    port = 0
    former.close()
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

  /// A device says that this one was removed from the account. The user hears of it until a device links again. Any
  /// member may say that: it does not count at the manager, which alone removes devices, nor while another device of
  /// the account is linked.
  /// - Parameter peer: nil: one that has not shown who it is, and knows a key of the account.
  private func noteRemoval(by peer: Identifier?) {
    guard !snapshot.isManager, (links?.devices ?? []).allSatisfy({ $0 == peer }) else { return }
    let name = snapshot.devices.first { $0.id == peer }?.name ?? "another device of the account, it seems"
    let error = SegueError(
      .notAllowed,
      """
      \(name): says that this device was removed from the account; if that is so, `segue account leave` forgets the \
      account here, and an invite brings this device back
      """)
    removal = error
    notices.add(error)
    publish()
  }

  private func linkChanged(_ peer: Identifier, _ isLinked: Bool) {
    if isLinked { removal = nil }
    messages?.linkChanged(peer)
    lastSeen.removeAll { $0.device == peer }
    lastSeen.append((peer, Clock.date))
    lastSeen.removeFirst(max(0, lastSeen.count - Limits.devices))
    keepPushes()
    publish()
  }

  /// Addresses may have waited for an interface.
  private func networkChanged() {
    links?.setAddresses(settings.dialled)
    publish()
  }

  /// A device of the account, or who has recorded it, says that it is another time.
  private func heardOtherTime(_ date: Double) {
    let isPresent = otherClock.problem(at: Clock.uptime) != nil
    let news = otherClock.heard(date, at: Clock.now)
    if let news { notices.add(news) }
    if news != nil || !isPresent { publish() }
  }

  /// Two machines are one device. Both have its keys, so that none of them can put the other one out.
  private func isCopied(_ device: Identifier, _ address: NetworkAddress) {
    guard device == snapshot.identity?.device else {
      notices.add(
        CopyAdvice.error(
          "\(name(of: device)): links from two machines by turns, lately from \(address.host)",
          isManager: isManager(device)))
      return publish()
    }
    let error = CopyAdvice.error("the machine at \(address.host) is this device, too", isManager: snapshot.isManager)
    copy = (error, until: Clock.uptime + Self.copyTime)
    notices.add(error)
    // The other machine is met again and again: each device hears of it once an hour.
    if toldOfCopyAt.map({ Clock.uptime - $0 >= Self.copyPause }) ?? true,
      let told = try? DeviceMessage.copied.encoding()
    {
      toldOfCopyAt = Clock.uptime
      for peer in links?.devices ?? [] { messages?.send(told, to: peer) }
    }
    publish()
  }

  /// A device says that another machine has its keys.
  private func noteCopy(of peer: Identifier) {
    notices.add(
      CopyAdvice.error("\(name(of: peer)): has met another machine with its keys", isManager: isManager(peer)))
    publish()
  }

  private func name(of device: Identifier) -> String {
    snapshot.devices.first { $0.id == device }?.name ?? "another device"
  }
  private func isManager(_ device: Identifier) -> Bool {
    snapshot.devices.contains { $0.id == device && $0.isManager }
  }

  /// A device has said something that is not about the members of the account.
  private func heard(_ message: DeviceMessage, from peer: Identifier) {
    guard !isClosed else { return }
    switch message {
    case .removed: return noteRemoval(by: peer)
    case .copied: return noteCopy(of: peer)
    case .push, .pushed, .withdrawn: break
    }
    if links?.certificate(of: peer) != nil { pushes.handle(message, from: peer, settings.push) }
  }

  /// Addresses at which others may reach this device: last those of IPv6 that count on one network, without the name
  /// that its interface has here. Who joins tries each interface of its own.
  var inviteAddresses: [String] {
    let all = (links?.interfaces ?? []).map { $0.address }
    var hosts = all.filter { !$0.isLinkLocal }.map { $0.host }
    for address in all where address.isLinkLocal && !address.isIPv4 {
      let host = address.withoutInterface.host
      if !hosts.contains(where: { Text.isSame($0, host) }) { hosts.append(host) }
    }
    return Array(hosts.prefix(Limits.inviteAddresses))
  }

  // MARK: Settings

  /// Changes settings, and answers when they are stored.
  func set(_ ask: Value, _ answer: @escaping ControlAsks.Answer) {
    account.change({ settings throws(SegueError) in try settings.change(ask) }) { [self] result in
      guard case .success(let changed) = result else { return answer(result.map { _ in .emptyDictionary }) }
      guard !isClosed else { return }
      let former = settings
      settings = changed
      settingsProblem = nil
      device.setPrivacy(settings.privacy)
      if let links {
        links.setAnnounced(settings.isAnnounced)
        // A port that was in use is tried again.
        if settings.port != former.port || (ask["port"] != nil && portProblem != nil) { listenAnew(links) }
        links.setAddresses(settings.dialled)
      }
      align()
      publish()
      answer(.success(.emptyDictionary))
    }
  }

  // MARK: Time

  private func tick() {
    let uptime = Clock.uptime
    joins.tick(uptime)
    watchers.tick(uptime)
    pushes.tick(uptime)
    if let until = copy?.until, until <= uptime {
      copy = nil
      publish()
    }
    if let deadline = accountDeadline, deadline <= uptime, !isTicking {
      isTicking = true
      account.perform({ account, now in account.tick(at: now) }) { [self] in
        isTicking = false
        ticked = Clock.uptime
        setTimer()
      }
    }
    setTimer()
  }

  /// The uptime at which the account was last told of the time.
  private var ticked: Int64 = 0

  private var accountDeadline: Int64? { snapshot.nextTick(after: ticked) }

  private func setTimer() {
    guard !isClosed else { return }
    var next = isTicking ? nil : accountDeadline
    for deadline in [joins.nextDeadline, watchers.nextDeadline, pushes.nextDeadline, copy?.until] {
      if let deadline { next = min(next ?? deadline, deadline) }
    }
    timer.set(next)
  }

  // MARK: Pushes

  /// Has another device continue an offer of this one (R3.15).
  /// - Parameters:
  ///   - app: the bundle identifier of the app there; nil: whatever fits.
  ///   - timeout: milliseconds for the answer, in which the user there may be asked.
  ///   - answer: called once: the continuation has begun there, or why not. Not called if the asker goes.
  /// Throws NOT_FOUND, INVALID_ARGUMENT, CONNECTION_UNAVAILABLE.
  func push(
    _ activity: Identifier, to peer: Identifier, app: String?, timeout: Int64?, for asker: Asker,
    _ answer: @escaping ControlAsks.Answer
  ) throws(SegueError) {
    guard let found = snapshot.devices.first(where: { $0.id == peer }) else {
      throw SegueError(.notFound, "device: the account has no such device")
    }
    guard !found.isThisDevice else { throw SegueError(.invalidArgument, "device: is this one") }
    guard links?.certificate(of: peer) != nil else {
      throw SegueError(.connectionUnavailable, "\(found.name): is not linked now")
    }
    pushes.outgoing.push(
      activity, to: peer, found.name, app: app, timeout: timeout, for: asker, privacy: settings.privacy, answer)
  }

  /// Ends what waits for devices that are not linked any longer: not at once, as a link may take another one's place.
  private func keepPushes() {
    loop.post { [self] in if !isClosed { pushes.keep(links?.devices ?? []) } }
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
    pushes.names = names
    let own = found.first { $0.isThisDevice }?.id
    device.setDevices(own.map { AccountDevices(own: $0, all: names) })
  }

  // MARK: What is told

  /// Tells those who wait, if there is something new. Who asks later sees what there is then.
  private func publish() {
    if watchers.isAwaited { renewState() }
    setTimer()
  }

  private func renewState() {
    guard !isClosed else { return }
    do throws(SegueError) {
      try watchers.publish(try state())
    } catch {
      Log.error("account: \(error.message)")
    }
  }

  /// Does what an asker wants once it is known what is stored: before that, an agent that has just started would say
  /// that there is no account, or that it listens nowhere. Throws what that throws, and BUSY.
  func whenRead(
    for asker: Asker, _ answer: @escaping ControlAsks.Answer, _ body: @escaping () throws(SegueError) -> Void
  ) throws(SegueError) {
    guard let waiting = early else { return try body() }
    guard waiting.count < Self.earlyLimit else {
      throw SegueError(.busy, "account: \(waiting.count) wait for the disk already")
    }
    let ask = {
      do throws(SegueError) {
        try body()
      } catch {
        answer(.failure(error))
      }
    }
    early?.append((asker: asker, ask: ask))
  }

  /// For a new asker: sets the timer for it.
  func watch(
    after: Int64?, timeout: Int64, for asker: Asker, _ answer: @escaping ControlAsks.Answer
  ) throws(SegueError) {
    guard early == nil else {
      return try whenRead(for: asker, answer) { [self] () throws(SegueError) in
        try watch(after: after, timeout: timeout, for: asker, answer)
      }
    }
    renewState()
    try watchers.get(after: after, timeout: timeout, for: asker, answer)
    setTimer()
  }
}
