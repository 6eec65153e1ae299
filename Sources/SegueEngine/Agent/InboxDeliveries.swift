import SegueModel
import SegueWire

/// An app that is open on this device, and the entry that it has.
private struct PresentApp {
  let identity: AppIdentity
  /// Whether it has a handler for what waits.
  var accepts: Bool
  /// Whether the current hub says that it is open.
  var isConfirmed = true
  var delivery: InboxDelivery?
  /// Whether the inbox looks for its next entry, and whether there may be another since.
  var isAsking = false
  var shallAskAgain = false
  /// The entries that it has had: it gets none of them again unless the user asks.
  var tried: [Identifier] = []
}

/// An entry that an app has.
private struct InboxDelivery {
  enum Phase {
    /// The app knows of it.
    case announced
    /// The app has fetched it, and others are read first.
    case queued
    /// The document is being read.
    case loading
    /// The document goes out on this channel; `sent` bytes of it have gone.
    case sending(Link.Channel, [UInt8], sent: Int)
    /// The answer of the app is on its way to the disk.
    case acknowledging
  }

  let item: InboxItem
  var phase = Phase.announced
  /// Whether the app has asked for the document: if it dies before, that is not because of it.
  var isFetched = false

  /// Whether it has a document in memory.
  var isLarge: Bool {
    switch phase {
    case .loading, .sending: true
    case .announced, .queued, .acknowledging: false
    }
  }
}

/// Delivers the entries of the inbox to the apps that are open and take them: one at a time to each, the same one again
/// only to another process of the app, or if the user asks. An entry ends only by an answer that is on the disk (R3.8).
final class InboxDeliveries: AppFeature {
  /// The most documents in memory.
  static let documentLimit = 4
  /// Milliseconds for the apps of a former hub to register with the next one.
  static let reconnectTime: Int64 = 3_000
  /// Milliseconds until an answer that could not be stored is stored again: twice as many each time.
  private static let firstPause: Int64 = 1_000
  private static let lastPause: Int64 = 16_000

  private let agent: AgentContext
  private let hub: HubConnection
  private var apps: [PresentApp] = []
  /// The uptime at which apps that the current hub does not know are gone.
  private var purgeAt: Int64?
  /// Answers of apps that the disk has refused.
  private var refused: [(answer: InboxRequest, at: Int64)] = []
  private var pause = InboxDeliveries.firstPause

  init(_ agent: AgentContext, _ hub: HubConnection) {
    self.agent = agent
    self.hub = hub
  }

  // MARK: Apps

  /// The apps that are open.
  var identities: [AppIdentity] { apps.map { $0.identity } }

  func present(_ app: AppIdentity, accepts: Bool, _ now: Moment) {
    if let index = index(of: app.id) {
      let wasConfirmed = apps[index].isConfirmed
      apps[index].accepts = accepts
      apps[index].isConfirmed = true
      if let delivery = apps[index].delivery, !wasConfirmed {
        if case .announced = delivery.phase { announce(delivery.item, to: app.id, now) }
      }
    } else {
      apps.append(PresentApp(identity: app, accepts: accepts))
      agent.owner.opened(app)
    }
    askNext(app.id)
  }

  func absent(_ id: Identifier, _ now: Moment) {
    guard let index = index(of: id) else { return }
    leave(at: index, isCrash: true)
  }

  private func leave(at index: Int, isCrash: Bool) {
    let app = apps.remove(at: index)
    guard let delivery = app.delivery else { return }
    if case .sending(let channel, _, _) = delivery.phase { hub.link?.reset(channel) }
    if case .acknowledging = delivery.phase { return }
    agent.owner.perform(.end(delivery.item.continuation, isCrash: isCrash && delivery.isFetched))
    askNext(ofBundle: app.identity.bundleIdentifier)
    loadQueued()
  }

  /// There may be an entry for an app.
  /// - Returns: false if no process of it is open.
  func deliver(to bundle: String, _ now: Moment) -> Bool {
    let isOpen = apps.contains { Text.isSame($0.identity.bundleIdentifier, bundle) }
    askNext(ofBundle: bundle)
    return isOpen
  }

  /// The user wants an entry to be delivered again.
  func retry(_ continuation: Identifier) {
    for index in apps.indices { apps[index].tried.removeAll { $0 == continuation } }
    for id in apps.map({ $0.identity.id }) { askNext(id) }
  }

  private func askNext(ofBundle bundle: String) {
    for id in apps.filter({ Text.isSame($0.identity.bundleIdentifier, bundle) }).map({ $0.identity.id }) {
      askNext(id)
    }
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
  func begun(_ id: Identifier, _ result: Result<InboxItem?, SegueError>, _ now: Moment) {
    var item: InboxItem?
    do throws(SegueError) {
      item = try result.get()
    } catch {
      agent.app.log(.error, "inbox: \(error.message)")
    }
    guard let index = index(of: id) else {
      if let item { agent.owner.perform(.end(item.continuation, isCrash: false)) }
      return
    }
    apps[index].isAsking = false
    let shallAskAgain = apps[index].shallAskAgain
    apps[index].shallAskAgain = false
    guard let item else {
      if shallAskAgain { askNext(id) }
      return
    }
    guard apps[index].accepts else {
      agent.owner.perform(.end(item.continuation, isCrash: false))
      return
    }
    apps[index].delivery = InboxDelivery(item: item)
    apps[index].tried.append(item.continuation)
    agent.app.log(
      .info,
      "\(item.offer.description.type) goes to \(apps[index].identity.name)\(item.isRedelivered ? ", once more" : "")")
    announce(item, to: id, now)
  }

  private func announce(_ item: InboxItem, to id: Identifier, _ now: Moment) {
    guard hub.isWelcome else { return }
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
        Message.InboxDelivery(
          continuation: item.continuation, to: id, offer: offer, timing: timing,
          milliseconds: agent.limits.continuation, isRedelivered: item.isRedelivered)))
  }

  /// An app asks for the document of what it was told of.
  /// - Parameter id: of the delivery.
  func fetched(_ id: Identifier, by app: Identifier, _ now: Moment) {
    guard let index = index(of: app), let delivery = apps[index].delivery,
      delivery.item.continuation.ofDelivery == id
    else {
      return hub.send(.refused(id, to: app, SegueError(.handoffFailed, "it does not wait for this app")))
    }
    if case .acknowledging = delivery.phase { return }
    if case .sending(let channel, _, _) = delivery.phase { hub.link?.reset(channel) }
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

  /// The document was read from the disk.
  func loaded(
    _ continuation: Identifier, by app: Identifier, _ result: Result<[UInt8], SegueError>, _ now: Moment
  ) {
    defer { loadQueued() }
    guard let index = index(of: app), let delivery = apps[index].delivery,
      delivery.item.continuation == continuation, case .loading = delivery.phase
    else { return }
    let id = continuation.ofDelivery
    do throws(SegueError) {
      let document = try result.get()
      guard let link = hub.link, hub.isWelcome, link.openCount < Link.channelLimit else {
        // The app asks again through the next hub.
        apps[index].delivery?.phase = .announced
        return
      }
      let channel = link.open()
      hub.send(
        .state(id, to: app, channel: channel, size: UInt64(document.count), isStale: delivery.item.isStale))
      apps[index].delivery?.phase = .sending(channel, document, sent: 0)
      pump(channel)
    } catch {
      // It was dropped, or has expired.
      hub.send(.refused(id, to: app, SegueError(.handoffFailed, "the inbox: \(error.message)")))
      agent.owner.perform(.end(continuation, isCrash: false))
      apps[index].delivery = nil
      askNext(app)
    }
  }

  /// Sends as much of a document as its channel accepts.
  func pump(_ channel: Link.Channel) {
    for index in apps.indices {
      guard let link = hub.link, case .sending(channel, let document, let sent)? = apps[index].delivery?.phase else {
        continue
      }
      let end = min(document.count, sent + link.room(in: channel))
      link.write(document[sent..<end], to: channel)
      guard end == document.count else {
        apps[index].delivery?.phase = .sending(channel, document, sent: end)
        return
      }
      link.finish(channel)
      apps[index].delivery?.phase = .announced
      return loadQueued()
    }
  }

  /// The app takes no more of it.
  func receivedReset(of channel: Link.Channel) {
    for index in apps.indices {
      if case .sending(channel, _, _)? = apps[index].delivery?.phase { apps[index].delivery?.phase = .announced }
    }
    loadQueued()
  }

  // MARK: Answers

  /// An app has answered, in time or late. It asks until it is acknowledged.
  /// - Parameter id: of the delivery.
  func answered(_ id: Identifier, _ outcome: Outcome, _ error: SegueError?, by receiver: Receiver, _ now: Moment) {
    let continuation = id.ofDelivery
    let index = index(of: receiver.id).flatMap { index in
      apps[index].delivery?.item.continuation == continuation ? index : nil
    }
    guard outcome == .restored || outcome == .declined else {
      // It is not handled: a cancel of the user, or a failure, acknowledges nothing.
      hub.send(.outcomeAck(id, to: receiver.id))
      guard let index else { return }
      apps[index].delivery = nil
      agent.owner.perform(.end(continuation, isCrash: false))
      return askNext(receiver.id)
    }
    if let index {
      if case .acknowledging = apps[index].delivery?.phase { return }
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
    agent.owner.perform(.acknowledge(continuation, app: receiver.id, receipt))
  }

  /// As much as the inbox stores.
  private static func bounded(_ text: String) -> String {
    guard text.utf8.count > Limits.identifier else { return text }
    return String(decoding: Array(text.utf8.prefix(Limits.identifier - 3)).filter { $0 < 0x80 }, as: UTF8.self)
  }

  /// The answer of an app is on the disk, or the disk refuses: then it is stored again later.
  func acknowledged(_ continuation: Identifier, by app: Identifier, _ now: Moment) {
    pause = Self.firstPause
    hub.send(.outcomeAck(continuation.ofDelivery, to: app))
    guard let index = index(of: app), apps[index].delivery?.item.continuation == continuation else { return }
    apps[index].delivery = nil
    askNext(app)
  }

  func refusedToStore(_ answer: InboxRequest, _ error: SegueError, _ now: Moment) {
    agent.app.log(.error, "inbox: an answer is not stored yet: \(error.message)")
    refused.append((answer, now.uptime + pause))
    pause = min(2 * pause, Self.lastPause)
  }

  /// The hub does not reach the app.
  /// - Returns: whether it is a delivery.
  func peerLost(_ id: Identifier) -> Bool {
    guard let index = apps.firstIndex(where: { $0.delivery?.item.continuation.ofDelivery == id }) else { return false }
    if case .acknowledging? = apps[index].delivery?.phase { return true }
    agent.owner.perform(.end(id.ofDelivery, isCrash: false))
    apps[index].delivery = nil
    return true
  }

  // MARK: Life cycle

  func connected(_ now: Moment) { if !apps.isEmpty { purgeAt = now.uptime + Self.reconnectTime } }

  func disconnected(_ now: Moment) {
    purgeAt = nil
    for index in apps.indices {
      apps[index].isConfirmed = false
      switch apps[index].delivery?.phase {
      case .queued?, .sending?: apps[index].delivery?.phase = .announced
      case .announced?, .loading?, .acknowledging?, nil: break
      }
    }
  }

  func tick(_ now: Moment) {
    if let at = purgeAt, at <= now.uptime {
      purgeAt = nil
      while let index = apps.firstIndex(where: { !$0.isConfirmed }) { leave(at: index, isCrash: false) }
    }
    while let index = refused.firstIndex(where: { $0.at <= now.uptime }) {
      agent.owner.perform(refused.remove(at: index).answer)
    }
  }

  var nextDeadline: Int64? { refused.reduce(purgeAt) { earlier($0, $1.at) } }

  var brokenInvariant: StaticString? {
    apps.count(where: { $0.delivery?.isLarge ?? false }) > Self.documentLimit ? "agent: too many documents" : nil
  }

  private func index(of app: Identifier) -> Int? { apps.firstIndex { $0.identity.id == app } }
}
