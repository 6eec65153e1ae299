import SegueModel
import SegueWire

/// The state of an activity, as its origin has sent it.
struct FetchedState {
  /// An activity document, in the form that travels.
  let document: [UInt8]
  /// Whether it is an older snapshot (R2.4).
  let isStale: Bool
}

/// The end of a fetch.
struct FetchEnd {
  /// Of the continuation, on the wire.
  let id: Identifier
  /// Whether the origin may know of it.
  let wasSent: Bool
  let received: Int
  /// The announced bytes of the document.
  let size: Int
  let result: Result<FetchedState, SegueError>
}

/// The receiver's half of continuations, from the fetch to the whole document: of an app, and of the agent on behalf of
/// apps that do not run. What is in progress is fetched again, under the same name, from the next hub (R3.14).
///
/// A call that ends a fetch returns its end, once.
final class StateFetches {
  private struct Fetch {
    let continuation: Message.Continuation
    /// On whose behalf the agent fetches; nil: the hub fills in this app.
    let receiver: Receiver?
    /// Whether the origin takes the state back (R3.10).
    let isBack: Bool
    /// The uptime at which it fails (R3.9).
    let deadline: Int64
    /// The uptime by which there must be a hub (R3.14).
    var hubBy: Int64?
    var wasSent = false
    /// The document arrives on this channel; nil: the origin has the fetch.
    var channel: Link.Channel?
    var document: [UInt8] = []
    var size = 0
    var isStale = false

    var nextDeadline: Int64 { hubBy.map { min($0, deadline) } ?? deadline }
  }

  private let hub: HubConnection
  private var fetches: [Fetch] = []

  init(_ hub: HubConnection) { self.hub = hub }

  // MARK: For the receiver

  func begin(
    _ continuation: Message.Continuation, for receiver: Receiver? = nil, isBack: Bool = false, deadline: Int64,
    _ now: Instant
  ) {
    fetches.append(Fetch(continuation: continuation, receiver: receiver, isBack: isBack, deadline: deadline))
    if hub.isWelcome {
      send(at: fetches.count - 1, now)
    } else {
      fetches[fetches.count - 1].hubBy = now.uptime + HubConnection.reconnectTime
    }
  }

  /// The receiver gives up.
  /// - Returns: nil if nothing is being fetched under that name.
  func cancel(_ id: Identifier, _ error: SegueError) -> FetchEnd? { index(of: id).map { end(at: $0, error) } }

  /// The announced bytes of all documents.
  var size: Int { fetches.reduce(0) { $0 + $1.size } }

  func progress(of id: Identifier) -> (received: Int, total: Int)? {
    index(of: id).map { (fetches[$0].document.count, fetches[$0].size) }
  }

  private func send(at index: Int, _ now: Instant) {
    fetches[index].hubBy = nil
    fetches[index].wasSent = true
    let fetch = fetches[index]
    hub.sendChecked(
      .fetch(
        fetch.continuation, milliseconds: max(1, fetch.deadline - now.uptime), receiver: fetch.receiver,
        isBack: fetch.isBack), now)
  }

  // MARK: Messages

  /// The origin sends the document on a channel.
  /// - Parameter room: bytes that all documents may have.
  func receiveState(
    _ id: Identifier, channel: Link.Channel, size: UInt64, isStale: Bool, room: Int = .max
  ) throws(SegueError) -> FetchEnd? {
    guard let link = hub.link else { return nil }
    try link.accept(channel)
    guard let index = index(of: id), fetches[index].channel == nil else {
      link.reset(channel)
      return nil
    }
    fetches[index].channel = channel
    guard let size = Int(exactly: size), size <= ActivityDocument.limit else {
      return end(at: index, SegueError(.userInfoTooLarge, "the origin sends \(size) bytes"))
    }
    guard size <= room - self.size else {
      return end(at: index, SegueError(.limitExceeded, "too much is fetched at a time"))
    }
    fetches[index].size = size
    fetches[index].isStale = isStale
    return nil
  }

  func hasChannel(_ channel: Link.Channel) -> Bool { receiving(on: channel) != nil }

  func received(_ bytes: ArraySlice<UInt8>, on channel: Link.Channel) -> FetchEnd? {
    guard let index = receiving(on: channel) else { return nil }
    fetches[index].document.append(bytes: bytes)
    guard fetches[index].document.count > fetches[index].size else { return nil }
    return end(at: index, SegueError(.handoffFailed, "the origin sent more than it announced"))
  }

  func receivedEnd(of channel: Link.Channel) -> FetchEnd? {
    guard let index = receiving(on: channel) else { return nil }
    let fetch = fetches[index]
    guard fetch.document.count == fetch.size else {
      return end(at: index, SegueError(.handoffFailed, "the origin sent less than it announced"))
    }
    return end(at: index, .success(FetchedState(document: fetch.document, isStale: fetch.isStale)))
  }

  func receivedReset(of channel: Link.Channel) -> FetchEnd? {
    receiving(on: channel).map { end(at: $0, SegueError(.handoffFailed, "the origin gave up sending")) }
  }

  private func end(at index: Int, _ error: SegueError) -> FetchEnd {
    if let channel = fetches[index].channel { hub.link?.reset(channel) }
    return end(at: index, .failure(error))
  }

  private func end(at index: Int, _ result: Result<FetchedState, SegueError>) -> FetchEnd {
    let fetch = fetches.remove(at: index)
    return FetchEnd(
      id: fetch.continuation.id, wasSent: fetch.wasSent, received: fetch.document.count, size: fetch.size,
      result: result)
  }

  // MARK: Life cycle

  func connected(_ now: Instant) {
    for index in fetches.indices { send(at: index, now) }
  }

  func disconnected(_ now: Instant) {
    for index in fetches.indices {
      fetches[index].channel = nil
      fetches[index].document = []
      fetches[index].size = 0
      fetches[index].hubBy = fetches[index].hubBy ?? now.uptime + HubConnection.reconnectTime
    }
  }

  /// - Returns: the end of a fetch whose time is up. Call again until nil.
  func tick(_ now: Instant) -> FetchEnd? {
    guard let index = fetches.firstIndex(where: { $0.nextDeadline <= now.uptime }) else { return nil }
    guard fetches[index].deadline > now.uptime else {
      return end(at: index, SegueError(.remoteApplicationTimedOut, "not continued within its time"))
    }
    return end(
      at: index, SegueError(.connectionUnavailable, "no hub for \(HubConnection.reconnectTime) ms"))
  }

  var nextDeadline: Int64? { fetches.reduce(nil) { earlier($0, $1.nextDeadline) } }

  private func index(of id: Identifier) -> Int? { fetches.firstIndex { $0.continuation.id == id } }

  private func receiving(on channel: Link.Channel) -> Int? { fetches.firstIndex { $0.channel == channel } }
}
