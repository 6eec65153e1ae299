// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A stream over a link, at the hub of the app at one of its ends: bytes from the app's socket go out on one channel of
/// the link, and bytes from another channel go to the socket (R7.2, R7.4). The owner of the engine owns the socket.
public final class LinkedStream {
  let id: Identifier
  let continuation: Message.Continuation
  /// An app of this device.
  let app: Identifier
  /// Whether the app has requested the stream; otherwise it received the request.
  let isRequester: Bool
  /// The linked hub. Hub and stream retain each other while a channel of the stream is open.
  let far: Peer
  /// The principal of the receiver.
  let principal: Principal

  /// The bytes from the app, and to it.
  private(set) var outgoing = Direction.unopened
  private(set) var incoming = Direction.unopened
  /// Bytes for the app that are not written to its socket yet; at most a window.
  private var arrived: [ArraySlice<UInt8>] = []
  /// The status with which the other app ended the stream; forwarded once all bytes are written to the socket.
  private var status: StreamStatus?
  /// Sent to the app once it has its end.
  private var request: Message?
  /// The number of bytes written to the socket, and of all that the other app has written, as its hub reports; nil
  /// while it may write more.
  private var written: UInt64 = 0
  private var total: UInt64?
  fileprivate var isChanged = false
  fileprivate var place = 0
  /// Whether the stream has failed.
  fileprivate(set) var isLost = false
  /// Whether the other side has stopped reading.
  public fileprivate(set) var isUnread = false
  /// The number by which the owner of the engine knows it.
  public private(set) var number: UInt64 = 0

  enum Direction: Equatable {
    case unopened
    case open(FramedConnection.Channel)
    case over
  }

  fileprivate init(
    _ id: Identifier, _ continuation: Message.Continuation, app: Identifier, isRequester: Bool, far: Peer,
    of principal: Principal
  ) {
    self.id = id
    self.continuation = continuation
    self.app = app
    self.isRequester = isRequester
    self.far = far
    self.principal = principal
  }

  /// Called once by the owner of the engine.
  public func setNumber(_ number: UInt64) { self.number = number }

  /// Sends the request to the app once its end exists.
  func ask(_ request: Message) { self.request = request }

  func takeRequest() -> Message? {
    defer { request = nil }
    return request
  }

  /// Keeps the other app's status until all bytes are written to the socket.
  /// - Returns: false if they already are.
  func keep(_ status: StreamStatus) -> Bool {
    guard !isWritten else { return false }
    self.status = status
    return true
  }

  fileprivate func takeStatus() -> StreamStatus? {
    defer { status = nil }
    return status
  }

  fileprivate func end(total: UInt64?) {
    closeIncoming()
    self.total = total
  }

  // MARK: Its channels

  func openOutgoing(_ channel: FramedConnection.Channel) {
    outgoing = .open(channel)
    far.channels.insert(.stream(self), channel)
  }

  func openIncoming(_ channel: FramedConnection.Channel) {
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

  /// The number of bytes that may be read from the app's socket now.
  public var availableCredit: Int {
    guard case .open(let channel) = outgoing, !isLost, !isUnread else { return 0 }
    let credit = far.link.availableCredit(of: channel)
    // Waits for more credit, which is on its way, so that frames do not become small.
    return credit < FramedConnection.pieceSize ? 0 : credit
  }

  /// Whether the app has stopped writing.
  public var hasEnded: Bool { outgoing == .over }
  /// Whether the socket may be read now.
  public var mayRead: Bool { availableCredit > 0 }
  /// Whether to write to the socket now.
  public var hasArrived: Bool { !arrived.isEmpty && !isLost }
  /// Whether everything is written: the socket is then shut down for writing.
  public var isWritten: Bool { incoming == .over && !hasArrived }
  /// Whether all bytes of the other app are written to the socket, or nothing reads them.
  var isProven: Bool { total.map { $0 == written } ?? true }
  /// Whether both directions have ended: the socket is then closed.
  public var isOver: Bool { isLost || isWritten && (outgoing == .over || isUnread) }

  /// Passes bytes for the socket to `body`, piece by piece, until it accepts only a part.
  /// - Returns: the number of accepted bytes.
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

  /// Does not copy large pieces. Small ones are copied together, because each would retain the whole buffer.
  func append(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count < FramedConnection.pieceSize / 2 else { return arrived.append(bytes) }
    if let last = arrived.indices.last, arrived[last].count < FramedConnection.pieceSize / 4 {
      bytes.withUnsafeBytes { arrived[last].append(contentsOf: $0) }
    } else {
      arrived.append(bytes.withUnsafeBytes { [UInt8]($0) }[...])
    }
  }

  fileprivate func dropArrived() {
    arrived = []
  }
}

/// The streams over links.
final class LinkedStreams {
  private var streams = UnorderedList<LinkedStream>()
  /// Streams that the owner of the engine has to handle, in order.
  private var changed: [LinkedStream] = []

  var all: [LinkedStream] { streams.all }
  var isEmpty: Bool { streams.isEmpty }
  var hasChanged: Bool { !changed.isEmpty }
  subscript(id: Identifier) -> LinkedStream? { streams.all.first { $0.id == id } }

  fileprivate func insert(_ stream: LinkedStream) { stream.place = streams.append(stream) }

  /// Removes a stream that is over.
  /// - Returns: false if it was removed before.
  fileprivate func remove(_ stream: LinkedStream) -> Bool {
    guard streams.has(stream, at: stream.place) else { return false }
    if let moved = streams.remove(at: stream.place) { moved.place = stream.place }
    // If the other side has stopped reading, the outgoing channel may still be open.
    stream.closeOutgoing()
    stream.closeIncoming()
    return true
  }

  fileprivate func change(_ stream: LinkedStream) {
    guard !stream.isChanged else { return }
    stream.isChanged = true
    changed.append(stream)
  }

  fileprivate func takeChanged() -> LinkedStream? {
    guard !changed.isEmpty else { return nil }
    let stream = changed.removeFirst()
    stream.isChanged = false
    return stream
  }
}

/// Streams over links.
extension HubTransfers {
  /// Removes and returns the next stream that the owner has to handle: it can be read or written, or is over. Nil if
  /// there is none.
  func takeChangedStream() -> LinkedStream? { linkedStreams.takeChanged() }

  func stream(_ id: Identifier) -> LinkedStream? { linkedStreams[id] }

  /// Creates a stream; nil if there are too many, or it exists already.
  func open(
    _ id: Identifier, _ continuation: Message.Continuation, app: Identifier, isRequester: Bool, far: Peer,
    of principal: Principal
  ) -> LinkedStream? {
    guard hasRoom(for: principal, to: far), linkedStreams[id] == nil else { return nil }
    let stream = LinkedStream(id, continuation, app: app, isRequester: isRequester, far: far, of: principal)
    linkedStreams.insert(stream)
    tally.add(principal)
    return stream
  }

  // MARK: The socket

  /// The app has written: `body` fills in at most a piece of it, and returns the number of bytes. Not called without
  /// room.
  func read(_ stream: LinkedStream, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
    guard stream.availableCredit > 0, case .open(let channel) = stream.outgoing else { return }
    stream.far.link.write(to: channel, atMost: FramedConnection.pieceSize, body)
    flush(stream.far)
  }

  /// The app has shut down its socket for writing.
  /// - Parameter isClosed: whether it has stopped reading, too.
  func ended(_ stream: LinkedStream, isClosed: Bool) {
    guard !stream.isLost else { return }
    if case .open(let channel) = stream.outgoing { stream.far.link.finish(channel) }
    stream.closeOutgoing()
    if isClosed { stopReading(stream) }
    flush(stream.far)
    changed(stream)
  }

  /// Passes bytes for the app to `body`, which returns the number that the socket accepted; if not all, it accepts no
  /// more for now.
  func write(_ stream: LinkedStream, _ body: (UnsafeRawBufferPointer) -> Int) {
    guard stream.hasArrived else { return }
    let count = stream.takeArrived(body)
    if case .open(let channel) = stream.incoming {
      stream.far.link.grant(count, to: channel)
      flush(stream.far)
    }
    reportEnd(stream)
    removeIfOver(stream)
  }

  /// The socket cannot be written: the app has closed its end.
  func stopReading(_ stream: LinkedStream) {
    guard !stream.isLost else { return }
    if case .open(let channel) = stream.incoming { stream.far.link.reset(channel) }
    stream.end(total: nil)
    stream.dropArrived()
    flush(stream.far)
    changed(stream)
  }

  /// Ends the stream with an error, reported to its app, or to the requester if the app does not know of it yet.
  @inline(never)
  func fail(_ stream: LinkedStream, _ error: SegueError) {
    guard !stream.isLost else { return }
    abort(stream)
    if stream.takeRequest() != nil {
      // Its app does not know of it yet.
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

  /// The other hub has reset a channel. If it was the incoming one, bytes are lost; otherwise the other side has
  /// stopped reading.
  func receivedReset(_ stream: LinkedStream, _ channel: FramedConnection.Channel) {
    if stream.incoming == .open(channel) {
      fail(stream, SegueError(.connectionUnavailable, "the connection to the other app has ended"))
    } else {
      stream.isUnread = true
      changed(stream)
    }
  }

  /// The link is gone.
  @inline(never)
  func failStreams(over peer: Peer) {
    for stream in linkedStreams.all where stream.far === peer {
      fail(stream, SegueError(.connectionUnavailable, "the link to the other app's device ended"))
    }
  }

  /// The route to the origin is gone: unanswered requests fail.
  func failUnanswered(_ continuation: Identifier, beyond peer: Peer) {
    for stream in linkedStreams.all
    where stream.far === peer && stream.continuation.id == continuation && stream.isRequester
      && stream.incoming == .unopened
    {
      fail(stream, SegueError(.connectionUnavailable, "the connection to the other app has ended"))
    }
  }

  /// The app is gone: requests to it that are unanswered fail.
  func failUnanswered(of app: Identifier) {
    for stream in linkedStreams.all where stream.app == app && !stream.isRequester && stream.outgoing == .unopened {
      fail(stream, SegueError(.connectionUnavailable, "the origin has ended"))
    }
  }

  /// Ends it at once, without a message to the app.
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
    guard let app = peers[app: stream.app], let status = stream.takeStatus() else { return }
    send(.streamStatus(stream.id, stream.continuation, to: stream.app, status), to: app)
  }

  private func removeIfOver(_ stream: LinkedStream) {
    if stream.isOver, linkedStreams.remove(stream) { tally.remove(stream.principal) }
  }

  func changed(_ stream: LinkedStream) {
    removeIfOver(stream)
    linkedStreams.change(stream)
  }
}
