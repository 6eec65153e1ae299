// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Delivers the entries of the inbox to the apps that are open and take them: one at a time to each, the same one again
/// only to another process of the app, or if the user asks. An entry ends only by an answer that is on the disk (R3.8).
final class InboxDeliveries: AppFeature {
  /// The most documents in memory.
  static let documentLimit = 4
  /// The most apps that a hub may say are open, and the most requests that the disk is asked for again: others are
  /// ignored. `principalLimit`: of the apps, the most of one process.
  static let appLimit = 4_096
  static let principalLimit = appLimit / Principal.share
  /// The most apps that have gone of which the agent knows what they have had.
  private static let formerLimit = 256
  /// The most tokens of clicks.
  private static let tokenLimit = 64
  /// Milliseconds for the apps of a former hub to register with the next one.
  static let reconnectTime: Int64 = 3_000

  private let agent: AgentContext
  private let hub: HubConnection
  private let seen: SeenOffers
  private var apps: [ConnectedApp] = []
  private var awaited = PendingDeliveries()
  /// The entries that apps had before they were gone, the latest app last: a hub may lose an app that runs on, and find
  /// it again.
  private var former: [(app: Identifier, tried: [Identifier])] = []
  /// The uptime at which apps that the current hub does not know are gone.
  private var purgeAt: Int64?
  private var refused = RefusedRequests(limit: appLimit)
  /// The tokens of clicks, for apps that run and have not got the entries yet. One that is too old has no effect.
  private var tokens: [(continuation: Identifier, token: String)] = []

  init(_ agent: AgentContext, _ hub: HubConnection, _ seen: SeenOffers) {
    self.agent = agent
    self.hub = hub
    self.seen = seen
  }

  // MARK: Apps

  /// The apps that are open.
  var identities: [AppIdentity] { apps.map { $0.identity } }

  /// An app that is open, and whom the hub charges for it.
  func app(_ id: Identifier) -> (identity: AppIdentity, principal: Identifier)? {
    index(of: id).map { (apps[$0].identity, apps[$0].principal) }
  }

  /// - Parameter principal: nil: the app is charged for itself.
  func present(_ app: AppIdentity, accepts: Bool, of principal: Identifier?, _ now: Instant) {
    if let index = index(of: app.id) {
      let wasConfirmed = apps[index].isConfirmed
      apps[index].accepts = accepts
      apps[index].isConfirmed = true
      if let delivery = apps[index].delivery, !wasConfirmed {
        if case .announced = delivery.phase { announce(delivery, to: app.id, now) }
      }
    } else {
      let principal = principal ?? app.id
      guard apps.count < Self.appLimit, apps.count(where: { $0.principal == principal }) < Self.principalLimit else {
        return agent.log(.error, "\(app.name) is ignored: too many apps are open", now)
      }
      apps.append(ConnectedApp(identity: app, principal: principal, accepts: accepts, tried: takeFormer(app.id)))
      agent.owner.opened(app)
    }
    giveNext(to: app.id, now)
  }

  func absent(_ id: Identifier, _ now: Instant) {
    guard let index = index(of: id) else { return }
    leave(at: index, isCrash: true)
  }

  private func leave(at index: Int, isCrash: Bool) {
    let app = apps.remove(at: index)
    if !app.tried.isEmpty {
      if former.count == Self.formerLimit { former.removeFirst() }
      former.append((app.identity.id, app.tried))
    }
    guard let delivery = app.delivery else { return }
    if let channel = delivery.channel { hub.link?.reset(channel) }
    // An app cannot have restored an entry that it was not sent: its answer will not end the entry.
    if case .acknowledging = delivery.phase, delivery.isSent { return }
    agent.owner.perform(.end(delivery.item.continuation, isCrash && delivery.isFetched ? .crashed : .unanswered))
    askNext(ofBundle: app.identity.bundleIdentifier)
    loadQueued()
  }

  private func takeFormer(_ app: Identifier) -> [Identifier] {
    former.firstIndex { $0.app == app }.map { former.remove(at: $0).tried } ?? []
  }

  /// Whether a process of an app is open.
  func isOpen(_ bundle: String) -> Bool { apps.contains { Text.isSame($0.identity.bundleIdentifier, bundle) } }

  /// There is an entry for an app.
  /// - Parameter activationToken: of the click that has asked for it. A process that is started gets it otherwise.
  /// - Returns: false if no process of it is open.
  func deliver(_ continuation: Identifier, to bundle: String, activationToken: String?, _ now: Instant) -> Bool {
    guard isOpen(bundle) else { return false }
    if let activationToken {
      _ = takeToken(of: continuation)
      if tokens.count == Self.tokenLimit { tokens.removeFirst() }
      tokens.append((continuation, activationToken))
    }
    for id in processes(of: bundle) { giveNext(to: id, now) }
    return true
  }

  private func takeToken(of continuation: Identifier) -> String? {
    tokens.firstIndex { $0.continuation == continuation }.map { tokens.remove(at: $0).token }
  }

  /// Somebody asks for an entry once more: unless an app has it, all processes of its app may get it.
  /// - Returns: false if no process of the app is open.
  func deliverAgain(_ continuation: Identifier, to bundle: String, activationToken: String?, _ now: Instant) -> Bool {
    if isDelivering(continuation) { return true }
    forgetTries(of: continuation)
    return deliver(continuation, to: bundle, activationToken: activationToken, now)
  }

  /// The delivery of an entry has begun before its app is open: the app need not wait for the disk.
  func add(_ item: InboxItem, for bundle: String, _ now: Instant) {
    if !awaited.add(item, for: bundle, now) { agent.owner.perform(.end(item.continuation, .untold)) }
  }

  /// The app of an entry could not be started.
  func launchFailed(for continuation: Identifier) {
    if let app = awaited.take(continuation) { stopAwaiting(app) }
  }

  /// Whether an app has an entry, or gets it now.
  func isDelivering(_ continuation: Identifier) -> Bool {
    apps.contains { $0.delivery?.item.continuation == continuation }
  }

  /// The entry is not in the inbox any longer: its app does not get it once it opens.
  func removed(_ continuation: Identifier) {
    _ = awaited.take(continuation)
    _ = takeToken(of: continuation)
  }

  /// No process of it has opened, or could be started, or the agent ends.
  private func stopAwaiting(_ app: PendingDeliveries.Entry) {
    agent.owner.perform(.end(app.item.continuation, .untold))
    askNext(ofBundle: app.bundle)
  }

  /// The agent ends.
  func flush() { while let app = awaited.takeAny() { stopAwaiting(app) } }

  /// The user wants an entry to be delivered again.
  func retry(_ continuation: Identifier) {
    forgetTries(of: continuation)
    for id in apps.map({ $0.identity.id }) { askNext(id) }
  }

  private func forgetTries(of continuation: Identifier) {
    for index in apps.indices { apps[index].tried.removeAll { $0 == continuation } }
    for index in former.indices { former[index].tried.removeAll { $0 == continuation } }
  }

  /// The open processes of an app, as of profiles of a browser (R12.3): first the one whose offer is frontmost; last
  /// those without an offer.
  private func processes(of bundle: String) -> [Identifier] {
    let open = apps.filter { Text.isSame($0.identity.bundleIdentifier, bundle) }.map { $0.identity.id }
    guard open.count > 1 else { return open }
    var result: [Identifier] = []
    for offer in seen.list.all where open.contains(offer.origin) && !result.contains(offer.origin) {
      result.append(offer.origin)
    }
    return result + open.filter { !result.contains($0) }
  }

  private func askNext(ofBundle bundle: String) { for id in processes(of: bundle) { askNext(id) } }

  /// Gives an app what its opening was awaited for, or asks the inbox.
  private func giveNext(to id: Identifier, _ now: Instant) {
    guard let index = index(of: id), apps[index].accepts, apps[index].delivery == nil, !apps[index].isAsking,
      let item = awaited.take(for: apps[index].identity.bundleIdentifier, except: apps[index].tried)
    else { return askNext(id) }
    give(item, toAppAt: index, now)
  }

  private func askNext(_ id: Identifier) {
    guard let index = index(of: id), apps[index].accepts, apps[index].delivery == nil else { return }
    guard !apps[index].isAsking else {
      apps[index].shallAskAgain = true
      return
    }
    apps[index].isAsking = true
    agent.owner.perform(
      .begin(app: id, bundle: apps[index].identity.bundleIdentifier, except: apps[index].tried))
  }

  // MARK: Delivering

  /// The inbox has found the next entry for an app, or none.
  func begun(
    _ id: Identifier, _ result: Result<InboxItem?, SegueError>, of request: InboxRequest, _ now: Instant
  ) {
    let index = index(of: id)
    let shallAskAgain = index.map { apps[$0].shallAskAgain } ?? false
    if let index {
      apps[index].isAsking = false
      apps[index].shallAskAgain = false
    }
    let found: InboxItem?
    do throws(SegueError) {
      found = try result.get()
      refused.succeeded()
    } catch {
      return refused(request, error, now)
    }
    guard let item = found else {
      if shallAskAgain { giveNext(to: id, now) }
      return
    }
    guard let index, apps[index].accepts else {
      // The app has gone, or no longer takes entries: another process of it does.
      agent.owner.perform(.end(item.continuation, .unanswered))
      if case .begin(_, let bundle, _) = request { askNext(ofBundle: bundle) }
      return
    }
    give(item, toAppAt: index, now)
  }

  /// Its delivery has begun, and that is on the disk.
  private func give(_ item: InboxItem, toAppAt index: Int, _ now: Instant) {
    let attempt = DeliveryAttempt(item: item, activationToken: takeToken(of: item.continuation))
    apps[index].delivery = attempt
    apps[index].tried.append(item.continuation)
    agent.app.log(
      .info,
      "\(item.offer.description.type) goes to \(apps[index].identity.name)\(item.isRedelivered ? ", once more" : "")")
    announce(attempt, to: apps[index].identity.id, now)
  }

  private func announce(_ attempt: DeliveryAttempt, to id: Identifier, _ now: Instant) {
    guard hub.isWelcome else { return }
    let item = attempt.item
    let former = item.offer.description
    let description = OfferDescription(
      id: former.id, type: former.type, title: former.title, payloadVersion: former.payloadVersion,
      sizeHint: former.sizeHint, expirationDate: former.expirationDate, supportsContinuationStreams: false)
    let offer = Offer(
      description: description, origin: agent.app.identity.id, appName: item.offer.appName,
      bundleIdentifier: item.offer.bundleIdentifier, deviceName: item.offer.deviceName, rank: 0, activatedAt: 0)
    let timing = OfferTiming(activatedAt: now.uptime, expirationDate: former.expirationDate, now: now)
    hub.send(
      .deliver(
        Message.DeliverRequest(
          continuation: item.continuation, to: id, offer: offer, timing: timing,
          milliseconds: agent.limits.continuation, isRedelivered: item.isRedelivered,
          activationToken: attempt.activationToken)))
  }

  /// An app asks for the document of what it was told of.
  /// - Parameter id: of the delivery.
  func fetched(_ id: Identifier, by app: Identifier, _ now: Instant) {
    guard let index = index(of: app), let delivery = apps[index].delivery,
      delivery.item.continuation.ofDelivery == id
    else {
      return hub.send(.refused(id, to: app, SegueError(.handoffFailed, "it does not wait for this app")))
    }
    if case .acknowledging = delivery.phase { return }
    if let channel = delivery.channel { hub.link?.reset(channel) }
    apps[index].delivery?.phase = .queued
    apps[index].delivery?.isFetched = true
    loadQueued()
  }

  private func loadQueued() {
    for index in apps.indices {
      guard let delivery = apps[index].delivery, case .queued = delivery.phase,
        apps.count(where: { $0.delivery?.isLarge ?? false }) < Self.documentLimit
      else { continue }
      apps[index].delivery?.phase = .loading
      agent.owner.perform(.load(delivery.item.continuation, app: apps[index].identity.id))
    }
  }

  /// Whether an app has the entry of a delivery, and may fetch its attachments.
  /// - Parameter id: of the delivery.
  func has(_ id: Identifier, _ app: Identifier) -> Bool {
    index(of: app).map { apps[$0].delivery?.item.continuation == id.ofDelivery } ?? false
  }

  /// The document was read from the disk.
  func loaded(
    _ continuation: Identifier, by app: Identifier, _ result: Result<[UInt8], SegueError>, _ now: Instant
  ) {
    defer { loadQueued() }
    guard let index = index(of: app), let delivery = apps[index].delivery,
      delivery.item.continuation == continuation, case .loading = delivery.phase
    else { return }
    let id = continuation.ofDelivery
    do throws(SegueError) {
      let document = try result.get()
      guard let link = hub.link, hub.isWelcome, link.openCount < FramedConnection.channelLimit else {
        // The app asks again through the next hub.
        apps[index].delivery?.phase = .announced
        return
      }
      let channel = link.open()
      let folders = delivery.item.originFolders
      if !folders.isEmpty { hub.send(.originFolders(id, to: app, folders)) }
      hub.send(
        .state(
          id, to: app, channel: channel, size: UInt64(document.count), isStale: delivery.item.isStale, why: ""))
      apps[index].delivery?.phase = .sending(channel, document, sent: 0)
      pump(channel)
    } catch {
      // It was dropped, or has expired.
      hub.send(.refused(id, to: app, SegueError(.handoffFailed, "the inbox: \(error.message)")))
      end(at: index)
    }
  }

  /// Sends as much of a document as its channel accepts.
  func pump(_ channel: FramedConnection.Channel) {
    for index in apps.indices {
      guard let link = hub.link, case .sending(channel, let document, let sent)? = apps[index].delivery?.phase else {
        continue
      }
      let end = min(document.count, sent + link.availableCredit(of: channel))
      link.write(document[sent..<end], to: channel)
      guard end == document.count else {
        apps[index].delivery?.phase = .sending(channel, document, sent: end)
        return
      }
      link.finish(channel)
      apps[index].delivery?.phase = .announced
      apps[index].delivery?.isSent = true
      // So that a later agent believes its answer, too. The app need not wait for it: to one that does not know, the
      // answer is a failure, and the next delivery is marked.
      if let delivery = apps[index].delivery {
        agent.owner.perform(.sent(delivery.item.continuation, app: apps[index].identity.id))
      }
      return loadQueued()
    }
  }

  /// The app takes no more of it.
  func receivedReset(of channel: FramedConnection.Channel) {
    for index in apps.indices {
      if apps[index].delivery?.channel == channel { apps[index].delivery?.phase = .announced }
    }
    loadQueued()
  }

  // MARK: Answers

  /// An app has answered, in time or late. It asks until it is acknowledged.
  /// - Parameter id: of the delivery.
  /// - Returns: the continuation, if the app had it and has failed.
  @discardableResult
  func answered(
    _ id: Identifier, _ outcome: Outcome, _ error: SegueError?, by receiver: Receiver, _ now: Instant
  ) -> Identifier? {
    let continuation = id.ofDelivery
    let index = index(of: receiver.id).flatMap { index in
      apps[index].delivery?.item.continuation == continuation ? index : nil
    }
    // The next process of the app would not take another type than was offered either (R2.6).
    let isWrong =
      outcome == .failed && error?.status == .malformed && index.map { apps[$0].delivery?.isFetched ?? false } ?? false
    guard outcome == .restored || outcome == .declined || isWrong else {
      // It is not handled: a cancel of the user, or a failure, acknowledges nothing.
      hub.send(.outcomeAck(id, to: receiver.id))
      guard let index else { return nil }
      let isFetched = apps[index].delivery?.isFetched ?? false
      if !apps[index].accepts, !isFetched {
        // It has given it back unseen.
        apps[index].tried.removeAll { $0 == continuation }
      }
      end(at: index)
      return isFetched && outcome == .failed ? continuation : nil
    }
    if let index {
      if case .acknowledging = apps[index].delivery?.phase { return nil }
      if let channel = apps[index].delivery?.channel { hub.link?.reset(channel) }
      apps[index].delivery?.phase = .acknowledging
    }
    let receipt = Receipt(
      continuation: continuation,
      receiver: Receiver(
        id: agent.app.identity.id, deviceName: receiver.deviceName, appName: receiver.appName,
        bundleIdentifier: receiver.bundleIdentifier),
      outcome: outcome, status: outcome == .restored ? .ok : error?.status ?? .declined,
      reason: Self.bounded(error?.message ?? ""),
      isStale: index.map { apps[$0].delivery?.item.isStale ?? false } ?? false,
      date: now.date)
    let wasSent = index.map { apps[$0].delivery?.isSent ?? false } ?? false
    agent.owner.perform(.acknowledge(continuation, app: receiver.id, wasSent: wasSent, receipt))
    return nil
  }

  /// A delivery has ended without an acknowledgement: another process of the app gets the entry.
  private func end(at index: Int) {
    guard let delivery = apps[index].delivery else { return }
    apps[index].delivery = nil
    agent.owner.perform(.end(delivery.item.continuation, .unanswered))
    askNext(ofBundle: apps[index].identity.bundleIdentifier)
  }

  /// As much as the inbox stores.
  static func bounded(_ text: String) -> String { Text.start(of: text, atMost: Limits.identifier) }

  /// The answer of an app is on the disk.
  func acknowledged(_ receipt: Receipt, by app: Identifier, _ now: Instant) {
    refused.succeeded()
    hub.send(.outcomeAck(receipt.continuation.ofDelivery, to: app))
    if let index = index(of: app), apps[index].delivery?.item.continuation == receipt.continuation {
      apps[index].delivery = nil
    }
    // It is over: no app gets it again.
    forgetTries(of: receipt.continuation)
    askNext(ofBundle: receipt.receiver.bundleIdentifier)
  }

  /// An app says that it has restored what it was not sent whole (R3.6): that counts as failed.
  func disbelieved(_ continuation: Identifier, by app: Identifier) {
    agent.app.log(.error, "an app says that it has restored what it was not sent")
    hub.send(.outcomeAck(continuation.ofDelivery, to: app))
    if let index = index(of: app), apps[index].delivery?.item.continuation == continuation { end(at: index) }
  }

  /// The disk has refused a request: it is made again later, unless the inbox cannot be used at all.
  func refused(_ request: InboxRequest, _ error: SegueError, _ now: Instant) {
    agent.log(.error, "inbox: \(error.message)", now)
    refused.add(request, error, now)
  }

  private func repeatRefused(_ now: Instant) {
    while let request = refused.takeDue(now) {
      switch request {
      // The app may have gone, or take nothing now.
      case .begin(let app, _, _): giveNext(to: app, now)
      case .end:
        agent.owner.perform(request)
        // Others could get no entry of their app meanwhile.
        for app in identities { askNext(app.id) }
      default: agent.owner.perform(request)
      }
    }
  }

  /// The hub does not reach the app.
  /// - Returns: whether it is a delivery.
  func peerLost(_ id: Identifier) -> Bool {
    guard let index = apps.firstIndex(where: { $0.delivery?.item.continuation.ofDelivery == id }) else { return false }
    if case .acknowledging? = apps[index].delivery?.phase { return true }
    end(at: index)
    return true
  }

  // MARK: Life cycle

  func connected(_ now: Instant) { if !apps.isEmpty { purgeAt = now.uptime + Self.reconnectTime } }

  func disconnected(_ now: Instant) {
    purgeAt = nil
    for index in apps.indices {
      apps[index].isConfirmed = false
      switch apps[index].delivery?.phase {
      // The next hub knows nothing of it. A document that is being read is read again when the app fetches it.
      case .queued?, .loading?, .sending?: apps[index].delivery?.phase = .announced
      case .announced?, .acknowledging?, nil: break
      }
    }
  }

  func tick(_ now: Instant) {
    if let at = purgeAt, at <= now.uptime {
      purgeAt = nil
      while let index = apps.firstIndex(where: { !$0.isConfirmed }) { leave(at: index, isCrash: false) }
    }
    while let app = awaited.takeOverdue(now) { stopAwaiting(app) }
    repeatRefused(now)
  }

  var nextDeadline: Int64? { earlier(earlier(purgeAt, refused.nextDeadline), awaited.nextDeadline) }

  var brokenInvariant: StaticString? {
    apps.count(where: { $0.delivery?.isLarge ?? false }) > Self.documentLimit ? "agent: too many documents" : nil
  }

  private func index(of app: Identifier) -> Int? { apps.firstIndex { $0.identity.id == app } }
}
