// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// A stream to the other side of a continuation, as the host holds it: the local end (R7.1-R7.3).
public final class LiveStream: HandleObject {
  public let id: Identifier
  private let app: App
  private let lock = Lock()
  /// This end of its socket.
  public let socket: any LocalStreamEnd
  /// Those who wait to hear how it has ended. Guarded by the app's lock.
  var waits: [StreamEndCallback] = []
  private var state = State.unopened
  private var isReleased = false

  private enum State {
    /// The library owns the descriptor.
    case unopened
    /// The host owns it.
    case opened
    /// It was aborted before it was opened.
    case closed
  }

  public init(_ id: Identifier, _ socket: any LocalStreamEnd, app: App) {
    self.id = id
    self.socket = socket
    self.app = app
  }

  // MARK: For the host

  /// Passes the descriptor to the host. Throws INVALID_STATE the second time.
  public func open() throws(SegueError) -> Int32 {
    try lock.withLock { () throws(SegueError) in
      guard case .unopened = state else { throw SegueError(.invalidState, "stream: was opened or ended before") }
      state = .opened
      return socket.giveAway()
    }
  }

  /// States that all is written. Throws INVALID_STATE before it is open.
  public func finish() throws(SegueError) {
    try lock.withLock { () throws(SegueError) in
      guard case .opened = state else { throw SegueError(.invalidState, "stream: is not open") }
    }
    // States the end first: the reader of the end may ask at once.
    app.reportEnd(.ended, of: self)
    socket.shutDown(readingToo: false)
  }

  /// Aborts the stream in any state.
  public func abort(_ code: UInt32) {
    app.reportEnd(.aborted(code), of: self)
    let wasUnopened = lock.withLock {
      guard case .unopened = state else { return false }
      state = .closed
      return true
    }
    if wasUnopened { socket.close() } else { socket.shutDown(readingToo: true) }
  }

  /// Asks how the other end has ended. Throws INVALID_STATE before it is open, and while the other end is open.
  public func wait(_ wait: StreamEndCallback) throws(SegueError) {
    let otherEnd = try lock.withLock { () throws(SegueError) in
      switch state {
      case .unopened: throw SegueError(.invalidState, "stream: is not open")
      case .opened: socket.otherEnd
      case .closed: nil as StreamOtherEnd?
      }
    }
    try app.waitForEnd(of: self, otherEnd ?? .closed, wait)
  }

  public override func lastHandleReleased() {
    let isGone = lock.withLock {
      isReleased = true
      if case .unopened = state {
        state = .closed
        socket.close()
      }
      return !isOpen
    }
    if isGone { app.forget(self) }
  }

  // MARK: For its app

  /// The visible state of this end.
  var end: StreamStatus { lock.withLock { isOpen ? .open : .aborted(0) } }

  /// Neither the host nor the library use it any longer.
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
    if case .unopened = state { socket.close() }
  }
}
