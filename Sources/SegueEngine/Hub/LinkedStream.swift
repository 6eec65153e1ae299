import SegueModel
import SegueWire

/// A stream that crosses a link, at the hub of the app at one of its ends: what comes from the app's socket goes out
/// on a channel of the link, and what comes on another goes to the socket (R7.2, R7.4). The owner of the engine has
/// the socket.
public final class LinkedStream {
  let id: Identifier
  let continuation: Message.Continuation
  /// Of this device.
  let app: Identifier
  /// The app has asked for the stream; if not, it was asked.
  let isAsker: Bool
  /// The hub beyond. Outlives it.
  unowned(unsafe) let far: Peer

  /// From the app, and to it.
  private(set) var outgoing = Direction.unopened
  private(set) var incoming = Direction.unopened
  /// What has come for the app and has not gone to it, a window at most.
  private var arrived: [ArraySlice<UInt8>] = []
  /// How the other app says that its end ends; it is told once all before has gone to the socket.
  private var word: StreamWord?
  /// For the app, once it has its end.
  private var request: Message?
  /// Bytes that have gone to the socket; and all that the other app has written, as its hub says. Nil: it may write
  /// more.
  private var written: UInt64 = 0
  private var total: UInt64?
  fileprivate var isChanged = false
  fileprivate var place = 0
  /// It is over before its end, and nothing of it counts any more.
  fileprivate(set) var isLost = false
  /// The other side reads no more.
  public fileprivate(set) var isUnread = false
  /// What the owner of the engine calls it.
  public var number: UInt64 = 0

  enum Direction: Equatable {
    case unopened
    case open(Link.Channel)
    case over
  }

  fileprivate init(_ id: Identifier, _ continuation: Message.Continuation, app: Identifier, isAsker: Bool, far: Peer) {
    self.id = id
    self.continuation = continuation
    self.app = app
    self.isAsker = isAsker
    self.far = far
  }

  /// Its app is asked once its end is there.
  func ask(_ request: Message) { self.request = request }

  func takeRequest() -> Message? {
    defer { request = nil }
    return request
  }

  /// Keeps the other app's word until all before has gone to the socket. False if all has.
  func keep(_ word: StreamWord) -> Bool {
    guard !isWritten else { return false }
    self.word = word
    return true
  }

  fileprivate func takeWord() -> StreamWord? {
    defer { word = nil }
    return word
  }

  fileprivate func end(total: UInt64?) {
    closeIncoming()
    self.total = total
  }

  // MARK: Its channels

  func openOutgoing(_ channel: Link.Channel) {
    outgoing = .open(channel)
    far.channels.insert(.stream(self), channel)
  }

  func openIncoming(_ channel: Link.Channel) {
    incoming = .open(channel)
    far.channels.insert(.stream(self), channel)
  }

  fileprivate func closeOutgoing() {
    if case .open(let channel) = outgoing { far.channels.remove(channel) }
    outgoing = .over
  }

  fileprivate func closeIncoming() {
    if case .open(let channel) = incoming { far.channels.remove(channel) }
    incoming = .over
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

/// The streams that cross links.
struct LinkedStreams {
  private var streams = UnorderedList<LinkedStream>()
  /// Those that their owner is to look after, each in its turn.
  private var changed: [LinkedStream] = []

  var all: [LinkedStream] { streams.all }
  var isEmpty: Bool { streams.isEmpty }
  var hasChanged: Bool { !changed.isEmpty }
  subscript(id: Identifier) -> LinkedStream? { streams.all.first { $0.id == id } }

  fileprivate mutating func insert(_ stream: LinkedStream) { stream.place = streams.append(stream) }

  /// Once it is over. A second time: nothing.
  fileprivate mutating func remove(_ stream: LinkedStream) {
    guard streams.has(stream, at: stream.place) else { return }
    if let moved = streams.remove(at: stream.place) { moved.place = stream.place }
    // One that nobody reads has not ended its own.
    stream.closeOutgoing()
    stream.closeIncoming()
  }

  fileprivate mutating func change(_ stream: LinkedStream) {
    guard !stream.isChanged else { return }
    stream.isChanged = true
    changed.append(stream)
  }

  fileprivate mutating func takeChanged() -> LinkedStream? {
    guard !changed.isEmpty else { return nil }
    let stream = changed.removeFirst()
    stream.isChanged = false
    return stream
  }
}

/// Until the drivers say it.
public typealias Crossing = LinkedStream

extension HubEngine {
  /// Returns a stream that may be carried between its app's socket and a link, or is over, each in its turn. Nil if
  /// none is left.
  public func takeCrossing() -> LinkedStream? { linkedStreams.takeChanged() }

  /// Nil: there are too many, or it is there already.
  func open(
    _ id: Identifier, _ continuation: Message.Continuation, app: Identifier, isAsker: Bool, far: Peer
  ) -> LinkedStream? {
    guard far.link.openCount < Link.channelLimit, linkedStreams[id] == nil else { return nil }
    let stream = LinkedStream(id, continuation, app: app, isAsker: isAsker, far: far)
    linkedStreams.insert(stream)
    return stream
  }

  // MARK: The socket

  /// The app has written: `body` fills in bytes of it, a piece at most, and returns how many. Not called without room.
  public func read(_ stream: LinkedStream, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
    guard stream.room > 0, case .open(let channel) = stream.outgoing else { return }
    stream.far.link.write(to: channel, atMost: Link.pieceSize, body)
    flush(stream.far)
    removeDismissed()
  }

  /// The app has shut down its socket for writing.
  /// - Parameter isClosed: it does not read any more, either.
  public func ended(_ stream: LinkedStream, isClosed: Bool) {
    guard !stream.isLost else { return }
    if case .open(let channel) = stream.outgoing { stream.far.link.finish(channel) }
    stream.closeOutgoing()
    if isClosed { endReading(stream) }
    flush(stream.far)
    changed(stream)
    removeDismissed()
  }

  /// Gives bytes that the app is to read to `body`, which returns how many of them went. Fewer than all: no more go
  /// for now.
  public func write(_ stream: LinkedStream, _ body: (UnsafeRawBufferPointer) -> Int) {
    guard stream.hasArrived else { return }
    let count = stream.takeArrived(body)
    if case .open(let channel) = stream.incoming {
      stream.far.link.grant(count, to: channel)
      flush(stream.far)
    }
    reportEnd(stream)
    removeIfOver(stream)
    removeDismissed()
  }

  /// The socket cannot be written: nobody reads it.
  public func stopReading(_ stream: LinkedStream) {
    endReading(stream)
    removeDismissed()
  }

  private func endReading(_ stream: LinkedStream) {
    guard !stream.isLost else { return }
    if case .open(let channel) = stream.incoming { stream.far.link.reset(channel) }
    stream.end(total: nil)
    stream.dropArrived()
    flush(stream.far)
    changed(stream)
  }

  /// There is no socket for it.
  public func lose(_ stream: LinkedStream, _ error: SegueError) {
    fail(stream, error)
    removeDismissed()
  }

  /// The same, or bytes of it are lost.
  @inline(never)
  func fail(_ stream: LinkedStream, _ error: SegueError) {
    guard !stream.isLost else { return }
    abort(stream)
    if stream.takeRequest() != nil {
      // Its app has not heard of it: whoever has asked is told.
      peers[app: stream.app]?.appSession?.unanswered.remove(stream.id)
      send(.streamAnswer(stream.id, stream.continuation, channel: 0, error), to: stream.far)
    } else if let app = peers[app: stream.app] {
      send(.streamAnswer(stream.id, stream.continuation, channel: 0, error), to: app)
    }
  }

  // MARK: The link

  func received(_ bytes: ArraySlice<UInt8>, _ stream: LinkedStream) {
    stream.append(bytes)
    changed(stream)
  }

  func receivedEnd(_ stream: LinkedStream, total: UInt64) {
    stream.end(total: total)
    reportEnd(stream)
    changed(stream)
  }

  /// The other hub has given up a channel: its own, so bytes are lost, or ours, so nobody reads what the app writes.
  func receivedReset(_ stream: LinkedStream, _ channel: Link.Channel) {
    if stream.incoming == .open(channel) {
      fail(stream, SegueError(.connectionUnavailable, "the way to the other app broke"))
    } else {
      stream.isUnread = true
      changed(stream)
    }
  }

  /// The link is gone.
  @inline(never)
  func failLinkedStreams(of peer: Peer) {
    for stream in linkedStreams.all where stream.far === peer {
      fail(stream, SegueError(.connectionUnavailable, "the link to the other app's device ended"))
    }
  }

  /// The way to the origin is gone: what it has not answered it never will.
  func failUnanswered(_ continuation: Identifier, beyond peer: Peer) {
    for stream in linkedStreams.all
    where stream.far === peer && stream.continuation.id == continuation && stream.isAsker
      && stream.incoming == .unopened
    {
      fail(stream, SegueError(.connectionUnavailable, "the way to the other app broke"))
    }
  }

  /// The app is gone: what it was asked for it will not answer.
  func failUnanswered(of app: Identifier) {
    for stream in linkedStreams.all where stream.app == app && !stream.isAsker && stream.outgoing == .unopened {
      fail(stream, SegueError(.connectionUnavailable, "the app where the activity lives has gone"))
    }
  }

  /// Ends it at once, without a word.
  func abort(_ stream: LinkedStream) {
    stream.isLost = true
    for direction in [stream.outgoing, stream.incoming] {
      if case .open(let channel) = direction { stream.far.link.reset(channel) }
    }
    flush(stream.far)
    changed(stream)
  }

  private func reportEnd(_ stream: LinkedStream) {
    guard stream.isWritten else { return }
    guard stream.isProven else {
      return fail(stream, SegueError(.connectionUnavailable, "bytes of the other app were lost on the way"))
    }
    guard let app = peers[app: stream.app], let word = stream.takeWord() else { return }
    send(.streamWord(stream.id, stream.continuation, to: stream.app, word), to: app)
  }

  private func removeIfOver(_ stream: LinkedStream) { if stream.isOver { linkedStreams.remove(stream) } }

  func changed(_ stream: LinkedStream) {
    removeIfOver(stream)
    linkedStreams.change(stream)
  }
}
