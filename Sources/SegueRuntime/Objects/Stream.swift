import SegueModel
import SegueTransport

/// A stream to the other side of a continuation, as the host holds it: the end that is here (R7.1-R7.3).
public final class Stream: Handled {
  let id: Identifier
  private let app: App
  private let lock = Lock()
  private let socket: StreamSocket
  /// Those who wait to hear how it has ended. Guarded by the app's lock.
  var waits: [StreamWait] = []
  private var state = State.unopened
  private var isReleased = false

  private enum State {
    /// The descriptor is the library's.
    case unopened
    /// It is the host's.
    case opened
    /// It was given up unopened.
    case closed
  }

  init(_ id: Identifier, _ socket: StreamSocket, app: App) {
    self.id = id
    self.socket = socket
    self.app = app
  }

  // MARK: For the host

  /// Gives the descriptor away. Throws INVALID_STATE the second time.
  public func open() throws(SegueError) -> Int32 {
    try lock.withLock { () throws(SegueError) in
      guard case .unopened = state else { throw SegueError(.invalidState, "stream: was opened or ended before") }
      state = .opened
      return socket.giveAway()
    }
  }

  /// All is written. Throws INVALID_STATE before it is open.
  public func finish() throws(SegueError) {
    try lock.withLock { () throws(SegueError) in
      guard case .opened = state else { throw SegueError(.invalidState, "stream: is not open") }
    }
    // The word first: whoever reads the end may ask at once.
    app.say(.ended, of: self)
    socket.shutDown(readingToo: false)
  }

  /// Gives it up, whatever is under way.
  public func abort(_ code: UInt32) {
    app.say(.aborted(code), of: self)
    let wasUnopened = lock.withLock {
      guard case .unopened = state else { return false }
      state = .closed
      return true
    }
    if wasUnopened { Descriptors.closeUntrusted(socket.fd) } else { socket.shutDown(readingToo: true) }
  }

  /// Tells how the other end has ended. Throws INVALID_STATE before it is open, and while the other end is open.
  public func wait(_ wait: StreamWait) throws(SegueError) {
    let otherEnd = try lock.withLock { () throws(SegueError) in
      switch state {
      case .unopened: throw SegueError(.invalidState, "stream: is not open")
      case .opened: socket.otherEnd
      case .closed: nil as StreamSocket.OtherEnd?
      }
    }
    try app.waitForEnd(of: self, otherEnd ?? .closed, wait)
  }

  public override func lastHandleReleased() {
    let isGone = lock.withLock {
      isReleased = true
      if case .unopened = state {
        state = .closed
        Descriptors.closeUntrusted(socket.fd)
      }
      return !isOpen
    }
    if isGone { app.forget(self) }
  }

  // MARK: For its app

  /// What can be seen of this end.
  var end: StreamWord { lock.withLock { isOpen ? .open : .aborted(0) } }

  /// Neither the host nor the library have any use for it any more.
  var isDone: Bool { lock.withLock { isReleased && !isOpen } }

  /// Called with the lock.
  private var isOpen: Bool {
    switch state {
    case .unopened: true
    case .opened: socket.isOpen
    case .closed: false
    }
  }

  deinit {
    if case .unopened = state { Descriptors.closeUntrusted(socket.fd) }
  }
}

/// Somebody who has asked for a stream.
open class StreamAsk {
  let activity: LiveActivity
  /// The end that is here.
  private(set) var stream: Stream?

  /// It hears the answer in place of the host, and has the end that is here.
  let transfer: Transfer?

  public init(_ activity: LiveActivity) {
    self.activity = activity
    transfer = nil
  }

  init(_ transfer: Transfer) {
    activity = transfer.activity
    self.transfer = transfer
  }

  /// Called once, without locks; then it is let go of.
  open func answered(_ activity: LiveActivity, _ stream: Stream?, _ error: Box<SegueError>?) {}

  func keep(_ stream: Stream) { self.stream = stream }
}

/// Somebody who waits to hear how a stream has ended.
open class StreamWait {
  public init() {}
  /// Called once, without locks; then it is let go of.
  open func ended(_ stream: Stream, _ word: StreamWord) {}
}
