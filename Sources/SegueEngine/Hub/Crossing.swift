import SegueModel
import SegueWire

/// A stream that crosses a link, at the hub of the app at one of its ends: what comes from the app's socket goes out on a
/// channel of the link, and what comes on another goes to the socket (R7.2, R7.4). The owner of the engine has the socket.
public final class Crossing {
  let id: Identifier
  let continuation: Message.Continuation
  /// Of this device.
  let app: Identifier
  /// The app has asked for the stream; if not, it was asked.
  let isAsker: Bool
  /// The hub beyond. Outlives it.
  unowned(unsafe) let far: Peer

  /// From the app, and to it.
  var outgoing = Way.unopened
  var incoming = Way.unopened
  /// What has come for the app and has not gone to it, a window at most.
  private var arrived: [ArraySlice<UInt8>] = []
  /// How the other app says that its end ends; it is told once all before has gone to the socket.
  var word: StreamWord?
  /// For the app, once it has its end.
  var request: Message?
  /// Bytes that have gone to the socket; and all that the other app has written, as its hub says: nil: it may write more.
  private var written: UInt64 = 0
  var total: UInt64?
  var isChanged = false
  /// It is over before its end, and nothing of it counts any more.
  fileprivate(set) var isLost = false
  /// The other side reads no more.
  public fileprivate(set) var isUnread = false
  /// What the owner of the engine calls it.
  public var number: UInt64 = 0

  enum Way: Equatable {
    case unopened
    case open(Link.Channel)
    case over

    func isOpen(on channel: Link.Channel) -> Bool { self == .open(channel) }
  }

  init(_ id: Identifier, _ continuation: Message.Continuation, app: Identifier, isAsker: Bool, far: Peer) {
    self.id = id
    self.continuation = continuation
    self.app = app
    self.isAsker = isAsker
    self.far = far
  }

  // MARK: For the owner

  /// Bytes that may be read from the app's socket now; 0: it is not to be read.
  public var room: Int {
    guard case .open(let channel) = outgoing, !isLost, !isUnread else { return 0 }
    let room = far.link.room(in: channel)
    // As much is under way then that there will be more: frames do not become small.
    return room < Link.pieceSize ? 0 : room
  }

  /// The app writes no more.
  public var hasEnded: Bool { outgoing == .over }
  /// Whether the socket is to be read now.
  public var mayRead: Bool { room > 0 }
  /// Whether there is something to write to the socket.
  public var hasArrived: Bool { !arrived.isEmpty && !isLost }
  /// Nothing more will be written: the socket is shut down for writing.
  public var isWritten: Bool { incoming == .over && !hasArrived }
  /// All that the other app has written has gone to the socket; or nobody reads it.
  var isProven: Bool { total.map { $0 == written } ?? true }
  /// The socket is closed.
  public var isOver: Bool { isLost || isWritten && (outgoing == .over || isUnread) }

  /// Gives what is to be written to `body`, piece by piece, until it takes less than all.
  /// - Returns: bytes that it took.
  fileprivate func takeArrived(_ body: (UnsafeRawBufferPointer) -> Int) -> Int {
    var total = 0
    while let first = arrived.first {
      let count = first.withUnsafeBytes { body($0) }
      total += count
      written += UInt64(count)
      guard count >= first.count else {
        arrived[0] = first.dropFirst(count)
        break
      }
      arrived.removeFirst()
    }
    return total
  }

  /// Pieces that are large in what was read are not copied; others would keep all of it, and are put together.
  func append(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count < Link.pieceSize / 2 else { return arrived.append(bytes) }
    if let last = arrived.indices.last, arrived[last].count < Link.pieceSize / 4 {
      bytes.withUnsafeBytes { arrived[last].append(contentsOf: $0) }
    } else {
      arrived.append(bytes.withUnsafeBytes { [UInt8]($0) }[...])
    }
  }

  fileprivate func dropArrived() {
    arrived = []
  }
}

extension HubEngine {
  /// A stream that may be carried between its app's socket and a link, or is over, each in its turn; nil: there is none (any
  /// more) since it was taken last.
  public func takeCrossing() -> Crossing? {
    guard !changedCrossings.isEmpty else { return nil }
    let crossing = changedCrossings.removeFirst()
    crossing.isChanged = false
    return crossing
  }

  func crossing(_ id: Identifier) -> Crossing? { crossings.first { $0.id == id } }

  /// Nil: there are too many, or it is there already.
  func cross(
    _ id: Identifier, _ continuation: Message.Continuation, app: Identifier, isAsker: Bool, far: Peer
  ) -> Crossing? {
    guard far.link.openCount < Link.channelLimit, crossing(id) == nil else { return nil }
    let crossing = Crossing(id, continuation, app: app, isAsker: isAsker, far: far)
    crossings.append(crossing)
    return crossing
  }

  // MARK: The socket

  /// The app has written: has `body` fill in bytes of it, a piece at most, and return how many. Nothing if there is no room.
  public func read(_ crossing: Crossing, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
    guard crossing.room > 0, case .open(let channel) = crossing.outgoing else { return }
    crossing.far.link.write(to: channel, atMost: Link.pieceSize, body)
    flush(crossing.far)
    removeDismissed()
  }

  /// The app has shut down its socket for writing.
  /// - Parameter isClosed: it does not read any more, either.
  public func ended(_ crossing: Crossing, isClosed: Bool) {
    guard !crossing.isLost else { return }
    if case .open(let channel) = crossing.outgoing { crossing.far.link.finish(channel) }
    crossing.outgoing = .over
    if isClosed { endReading(crossing) }
    flush(crossing.far)
    changed(crossing)
    removeDismissed()
  }

  /// Gives bytes that the app is to read to `body`, which returns how many of them went; fewer than all: no more go for now.
  public func write(_ crossing: Crossing, _ body: (UnsafeRawBufferPointer) -> Int) {
    guard crossing.hasArrived else { return }
    let count = crossing.takeArrived(body)
    if case .open(let channel) = crossing.incoming {
      crossing.far.link.grant(count, to: channel)
      flush(crossing.far)
    }
    sayHowEnded(crossing)
    dropIfOver(crossing)
    removeDismissed()
  }

  /// The socket cannot be written: nobody reads it.
  public func stopReading(_ crossing: Crossing) {
    endReading(crossing)
    removeDismissed()
  }

  private func endReading(_ crossing: Crossing) {
    guard !crossing.isLost else { return }
    if case .open(let channel) = crossing.incoming { crossing.far.link.reset(channel) }
    crossing.incoming = .over
    crossing.total = nil
    crossing.dropArrived()
    flush(crossing.far)
    changed(crossing)
  }

  /// There is no socket for it.
  public func lose(_ crossing: Crossing, _ error: SegueError) {
    fail(crossing, error)
    removeDismissed()
  }

  /// The same, or bytes of it are lost.
  @inline(never)
  func fail(_ crossing: Crossing, _ error: SegueError) {
    guard !crossing.isLost else { return }
    drop(crossing)
    if crossing.request != nil {
      // Its app has not heard of it: whoever has asked is told.
      crossing.request = nil
      apps[crossing.app]?.unanswered.removeAll { $0.id == crossing.id }
      send(.streamAnswer(crossing.id, crossing.continuation, channel: 0, error), to: crossing.far)
    } else if let app = apps[crossing.app] {
      send(.streamAnswer(crossing.id, crossing.continuation, channel: 0, error), to: app)
    }
  }

  // MARK: The link

  /// False: the channel is of no crossing.
  func carry(_ bytes: ArraySlice<UInt8>, from peer: Peer, _ channel: Link.Channel) -> Bool {
    guard let crossing = crossings.first(where: { $0.far === peer && $0.incoming.isOpen(on: channel) }) else {
      return false
    }
    crossing.append(bytes)
    changed(crossing)
    return true
  }

  func carryEnd(from peer: Peer, _ channel: Link.Channel, total: UInt64) -> Bool {
    guard let crossing = crossings.first(where: { $0.far === peer && $0.incoming.isOpen(on: channel) }) else {
      return false
    }
    crossing.incoming = .over
    crossing.total = total
    sayHowEnded(crossing)
    changed(crossing)
    return true
  }

  /// The other hub has given up a channel: its own, so bytes are lost, or ours, so nobody reads what the app writes.
  func carryReset(from peer: Peer, _ channel: Link.Channel) -> Bool {
    for crossing in crossings where crossing.far === peer {
      if crossing.incoming.isOpen(on: channel) {
        fail(crossing, SegueError(.connectionUnavailable, "the way to the other app broke"))
        return true
      }
      if crossing.outgoing.isOpen(on: channel) {
        crossing.isUnread = true
        changed(crossing)
        return true
      }
    }
    return false
  }

  func carryMore(from peer: Peer, _ channel: Link.Channel) -> Bool {
    guard let crossing = crossings.first(where: { $0.far === peer && $0.outgoing.isOpen(on: channel) }) else {
      return false
    }
    changed(crossing)
    return true
  }

  /// The link is gone.
  @inline(never)
  func loseCrossings(of peer: Peer) {
    for crossing in crossings where crossing.far === peer {
      fail(crossing, SegueError(.connectionUnavailable, "the link to the other app's device ended"))
    }
  }

  /// The way to the origin is gone: what it has not answered it never will.
  func loseUnanswered(_ continuation: Identifier, beyond peer: Peer) {
    for crossing in crossings
    where crossing.far === peer && crossing.continuation.id == continuation && crossing.isAsker
      && crossing.incoming == .unopened
    {
      fail(crossing, SegueError(.connectionUnavailable, "the way to the other app broke"))
    }
  }

  /// Ends it at once, without a word.
  func drop(_ crossing: Crossing) {
    crossing.isLost = true
    for way in [crossing.outgoing, crossing.incoming] {
      if case .open(let channel) = way { crossing.far.link.reset(channel) }
    }
    flush(crossing.far)
    changed(crossing)
  }

  private func sayHowEnded(_ crossing: Crossing) {
    guard crossing.isWritten else { return }
    guard crossing.isProven else {
      return fail(crossing, SegueError(.connectionUnavailable, "bytes of the other app were lost on the way"))
    }
    guard let word = crossing.word, let app = apps[crossing.app] else { return }
    crossing.word = nil
    send(.streamWord(crossing.id, crossing.continuation, to: crossing.app, word), to: app)
  }

  private func dropIfOver(_ crossing: Crossing) { if crossing.isOver { crossings.removeAll { $0 === crossing } } }

  func changed(_ crossing: Crossing) {
    dropIfOver(crossing)
    guard !crossing.isChanged else { return }
    crossing.isChanged = true
    changedCrossings.append(crossing)
  }
}
