// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Delivers the entries of the inbox to the apps that are open and take them: one at a time to each, the same one again
/// only to another process of the app, or if the user asks. An entry ends only by an answer that is on the disk (R3.8).
final class InboxDeliveries: AppFeature {
  /// The most requests that the disk is asked for again: others are ignored.
  private static let refusedLimit = 4_096
  /// Milliseconds for the apps of a former hub to register with the next one.
  static let reconnectTime: Int64 = 3_000

  private let agent: AgentContext
  private let hub: HubConnection
  private let seen: SeenOffers
  private let apps = OpenApps()
  let documents: InboxDocuments
  private var awaited = PendingDeliveries()
  /// The uptime at which apps that the current hub does not know are gone.
  private var purgeAt: Int64?
  private var refused = RefusedRequests(limit: refusedLimit)
  private var tokens = ActivationTokens()

  init(_ agent: AgentContext, _ hub: HubConnection, _ seen: SeenOffers) {
    self.agent = agent
    self.hub = hub
    self.seen = seen
    documents = InboxDocuments(agent, hub, apps)
  }

  // MARK: Apps

  /// The apps that are open.
  var identities: [AppIdentity] { apps.identities }

  /// An app that is open, and whom the hub charges for it.
  func app(_ id: Identifier) -> (identity: AppIdentity, principal: Identifier)? {
    apps.index(of: id).map { (apps[$0].identity, apps[$0].principal) }
  }

  /// - Parameter principal: nil: the app is charged for itself.
  func present(_ app: AppIdentity, accepts: Bool, of principal: Identifier?, _ now: Instant) {
    if let index = apps.index(of: app.id) {
      let wasConfirmed = apps[index].isConfirmed
      apps[index].accepts = accepts
      apps[index].isConfirmed = true
      if let delivery = apps[index].delivery, !wasConfirmed {
        if case .announced = delivery.phase { announce(delivery, to: app.id, now) }
      }
    } else {
      let principal = principal ?? app.id
      guard apps.add(app, principal, accepts: accepts) else {
        return agent.log(.error, "\(app.name) is ignored: too many apps are open", now)
      }
      agent.owner.opened(app)
    }
    giveNext(to: app.id, now)
  }

  func absent(_ id: Identifier, _ now: Instant) {
    guard let index = apps.index(of: id) else { return }
    leave(at: index, isCrash: true)
  }

  private func leave(at index: Int, isCrash: Bool) {
    let app = apps.remove(at: index)
    guard let delivery = app.delivery else { return }
    if let channel = delivery.channel { hub.link?.reset(channel) }
    // An app cannot have restored an entry that it was not sent: its answer will not end the entry.
    if case .acknowledging = delivery.phase, delivery.isSent { return }
    agent.owner.perform(.end(delivery.item.continuation, isCrash && delivery.isFetched ? .crashed : .unanswered))
    askNext(ofBundle: app.identity.bundleIdentifier)
    documents.loadQueued()
  }

  /// Whether a process of an app is open.
  func isOpen(_ bundle: String) -> Bool { apps.isOpen(bundle) }

  /// There is an entry for an app.
  /// - Parameter activationToken: of the click that has asked for it. A process that is started gets it otherwise.
  /// - Returns: false if no process of it is open.
  func deliver(_ continuation: Identifier, to bundle: String, activationToken: String?, _ now: Instant) -> Bool {
    guard isOpen(bundle) else { return false }
    if let activationToken { tokens.set(activationToken, of: continuation) }
    for id in processes(of: bundle) { giveNext(to: id, now) }
    return true
  }

  /// Somebody asks for an entry once more: unless an app has it, all processes of its app may get it.
  /// - Returns: false if no process of the app is open.
  func deliverAgain(_ continuation: Identifier, to bundle: String, activationToken: String?, _ now: Instant) -> Bool {
    if isDelivering(continuation) { return true }
    apps.forgetTries(of: continuation)
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
    apps.index(having: continuation) != nil
  }

  /// The entry is not in the inbox any longer: its app does not get it once it opens.
  func removed(_ continuation: Identifier) {
    _ = awaited.take(continuation)
    _ = tokens.take(of: continuation)
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
    apps.forgetTries(of: continuation)
    for app in identities { askNext(app.id) }
  }

  private func processes(of bundle: String) -> [Identifier] { apps.processes(of: bundle, seen.list.all) }

  private func askNext(ofBundle bundle: String) { for id in processes(of: bundle) { askNext(id) } }

  /// Gives an app what its opening was awaited for, or asks the inbox.
  private func giveNext(to id: Identifier, _ now: Instant) {
    guard let index = apps.index(of: id), apps[index].accepts, apps[index].delivery == nil, !apps[index].isAsking,
      let item = awaited.take(for: apps[index].identity.bundleIdentifier, except: apps[index].tried)
    else { return askNext(id) }
    give(item, toAppAt: index, now)
  }

  private func askNext(_ id: Identifier) {
    guard let index = apps.index(of: id), apps[index].accepts, apps[index].delivery == nil else { return }
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
    let index = apps.index(of: id)
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
    let attempt = DeliveryAttempt(item: item, activationToken: tokens.take(of: item.continuation))
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

  /// The document of an entry was read from the disk.
  func loaded(
    _ continuation: Identifier, by app: Identifier, _ result: Result<[UInt8], SegueError>, _ now: Instant
  ) {
    if !documents.loaded(continuation, by: app, result), let index = apps.index(of: app) { end(at: index) }
    documents.loadQueued()
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
    let index = apps.index(of: receiver.id).flatMap { index in
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
    if let index = apps.index(of: app), apps[index].delivery?.item.continuation == receipt.continuation {
      apps[index].delivery = nil
    }
    // It is over: no app gets it again.
    apps.forgetTries(of: receipt.continuation)
    askNext(ofBundle: receipt.receiver.bundleIdentifier)
  }

  /// An app says that it has restored what it was not sent whole (R3.6): that counts as failed.
  func disbelieved(_ continuation: Identifier, by app: Identifier) {
    agent.app.log(.error, "an app says that it has restored what it was not sent")
    hub.send(.outcomeAck(continuation.ofDelivery, to: app))
    if let index = apps.index(of: app), apps[index].delivery?.item.continuation == continuation { end(at: index) }
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
    guard let index = apps.index(having: id.ofDelivery) else { return false }
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
      while let index = apps.unconfirmed { leave(at: index, isCrash: false) }
    }
    while let app = awaited.takeOverdue(now) { stopAwaiting(app) }
    repeatRefused(now)
  }

  var nextDeadline: Int64? { earlier(earlier(purgeAt, refused.nextDeadline), awaited.nextDeadline) }

  var brokenInvariant: StaticString? { documents.brokenInvariant }
}
