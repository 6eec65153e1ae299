// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The fetch of the state of an activity, from its origin or back.
final class StateFetch {
  enum Source {
    case origin
    /// The app that has continued an activity of this one (R3.10), and the principal that was charged for that.
    case keeper(principal: Identifier)
  }

  fileprivate let continuation: Message.Continuation
  /// On whose behalf the agent fetches; nil: the hub fills in this app.
  fileprivate let receiver: Receiver?
  fileprivate let source: Source
  /// The uptime at which it fails (R3.9).
  fileprivate let deadline: Int64
  /// The uptime by which there must be a hub (R3.14).
  fileprivate var hubBy: Int64?
  /// The document arrives on this channel; nil: the origin has the fetch.
  fileprivate var channel: FramedConnection.Channel?

  /// Whether the origin may know of it.
  fileprivate(set) var wasSent = false
  /// The bytes of the activity document that have come, in the form that travels.
  fileprivate(set) var document: [UInt8] = []
  /// The announced bytes of the document.
  fileprivate(set) var size = 0
  /// Whether it is an older snapshot (R2.4).
  fileprivate(set) var isStale = false
  /// Why, if the origin says so.
  fileprivate(set) var staleReason: String?
  /// The folders of an origin on this device (R13.4), as `OriginFolders` reads them; empty if it has sent none.
  fileprivate(set) var originFolders: [UInt8] = []
  /// Once it has ended: nil if the document is whole.
  fileprivate(set) var error: SegueError?

  fileprivate init(
    _ continuation: Message.Continuation, _ receiver: Receiver?, from source: Source, deadline: Int64
  ) {
    self.continuation = continuation
    self.receiver = receiver
    self.source = source
    self.deadline = deadline
  }

  /// The identifier of the continuation on the wire.
  var id: Identifier { continuation.id }

  fileprivate var nextDeadline: Int64 { hubBy.map { min($0, deadline) } ?? deadline }
}

/// The receiver's half of continuations, from the fetch to the whole document: of an app, and of the agent on behalf of
/// apps that do not run. A fetch in progress is repeated at the next hub, under the same name (R3.14).
///
/// A call that ends a fetch returns it, once.
final class StateFetches {
  private let hub: HubConnection
  private var fetches: [StateFetch] = []

  init(_ hub: HubConnection) { self.hub = hub }

  // MARK: For the receiver

  func begin(
    _ continuation: Message.Continuation, for receiver: Receiver? = nil, from source: StateFetch.Source = .origin,
    deadline: Int64, _ now: Instant
  ) {
    let fetch = StateFetch(continuation, receiver, from: source, deadline: deadline)
    fetches.append(fetch)
    if hub.isWelcome { send(fetch, now) } else { fetch.hubBy = now.uptime + HubConnection.reconnectTime }
  }

  /// The receiver gives up.
  /// - Returns: nil if nothing is being fetched under that name.
  func cancel(_ id: Identifier, _ error: SegueError) -> StateFetch? { self[id].map { end($0, error) } }

  /// The announced bytes of all documents.
  var size: Int { fetches.reduce(0) { $0 + $1.size } }

  subscript(id: Identifier) -> StateFetch? { fetches.first { $0.id == id } }

  private func send(_ fetch: StateFetch, _ now: Instant) {
    fetch.hubBy = nil
    fetch.wasSent = true
    // The hub looks for the app where it has been.
    var (principal, isBack) = (Identifier?.none, false)
    if case .keeper(let its) = fetch.source { (principal, isBack) = (its, true) }
    hub.sendChecked(
      .fetch(
        fetch.continuation, milliseconds: max(1, fetch.deadline - now.uptime), receiver: fetch.receiver,
        principal: principal, isBack: isBack), now)
  }

  // MARK: Messages

  /// The origin sends the document on a channel.
  /// - Parameter room: bytes that all documents may have.
  func receiveState(
    _ id: Identifier, channel: FramedConnection.Channel, size: UInt64, isStale: Bool, why: String, room: Int = .max
  ) throws(SegueError) -> StateFetch? {
    guard let link = hub.link else { return nil }
    try link.accept(channel)
    guard let fetch = self[id], fetch.channel == nil else {
      link.reset(channel)
      return nil
    }
    fetch.channel = channel
    guard let size = Int(exactly: size), size <= ActivityDocument.limit else {
      return end(
        fetch,
        SegueError(.userInfoTooLarge, "the origin's activity has \(size) bytes; \(ActivityDocument.limit) are allowed"))
    }
    guard size <= room - self.size else {
      return end(fetch, SegueError(.limitExceeded, "the fetches of this app exceed their limit; wait for one to end"))
    }
    fetch.size = size
    fetch.isStale = isStale
    fetch.staleReason = isStale && !why.utf8.isEmpty ? why : nil
    return nil
  }

  /// The origin, which is on this device, says where its folders are.
  func receiveOriginFolders(_ id: Identifier, _ text: [UInt8]) {
    if text.count <= OriginFolders.sizeLimit { self[id]?.originFolders = text }
  }

  func hasChannel(_ channel: FramedConnection.Channel) -> Bool { fetch(on: channel) != nil }

  func received(_ bytes: ArraySlice<UInt8>, on channel: FramedConnection.Channel) -> StateFetch? {
    guard let fetch = fetch(on: channel) else { return nil }
    fetch.document.append(bytes: bytes)
    guard fetch.document.count > fetch.size else { return nil }
    return end(fetch, SegueError(.handoffFailed, "the origin sent more than it announced"))
  }

  func receivedEnd(of channel: FramedConnection.Channel) -> StateFetch? {
    guard let fetch = fetch(on: channel) else { return nil }
    guard fetch.document.count == fetch.size else {
      return end(fetch, SegueError(.handoffFailed, "the origin sent less than it announced"))
    }
    return end(fetch, nil)
  }

  func receivedReset(of channel: FramedConnection.Channel) -> StateFetch? {
    fetch(on: channel).map { end($0, SegueError(.handoffFailed, "the origin stopped sending")) }
  }

  private func end(_ fetch: StateFetch, _ error: SegueError?) -> StateFetch {
    if error != nil, let channel = fetch.channel { hub.link?.reset(channel) }
    fetch.error = error
    fetches.remove(fetch)
    return fetch
  }

  // MARK: Life cycle

  func connected(_ now: Instant) {
    for fetch in fetches { send(fetch, now) }
  }

  func disconnected(_ now: Instant) {
    for fetch in fetches {
      fetch.channel = nil
      fetch.document = []
      fetch.originFolders = []
      fetch.size = 0
      fetch.hubBy = fetch.hubBy ?? now.uptime + HubConnection.reconnectTime
    }
  }

  /// - Returns: a fetch whose time is up. Call again until nil.
  func tick(_ now: Instant) -> StateFetch? {
    guard let fetch = fetches.first(where: { $0.nextDeadline <= now.uptime }) else { return nil }
    return end(
      fetch,
      fetch.deadline <= now.uptime
        ? SegueError(.remoteApplicationTimedOut, "not continued within its time")
        : SegueError(.connectionUnavailable, "no hub for \(HubConnection.reconnectTime) ms"))
  }

  var nextDeadline: Int64? { fetches.reduce(nil) { earlier($0, $1.nextDeadline) } }

  private func fetch(on channel: FramedConnection.Channel) -> StateFetch? { fetches.first { $0.channel == channel } }
}
