import CLibUV
import SegueModel

/// Calls back on the library thread while a descriptor is ready.
public final class Watch {
  private let poll: UnsafeMutablePointer<uv_poll_t>
  private let body: (_ isReadable: Bool, _ isWritable: Bool) -> Void
  private var events: Int32 = 0
  private var isClosed = false

  /// Watches for reading. It lives until `close`.
  public init(
    _ fd: Int32, on loop: Loop, _ body: @escaping (_ isReadable: Bool, _ isWritable: Bool) -> Void
  ) throws(SegueError) {
    self.body = body
    poll = .allocate(capacity: 1)
    let result = uv_poll_init(loop.loop, poll, fd)
    guard result == 0 else {
      poll.deallocate()
      throw .system("watching a descriptor", -result)
    }
    poll.pointee.data = Unmanaged.passRetained(self).toOpaque()
    watch(writing: false)
  }

  /// Watches for reading, unless not asked, and for writing, if asked.
  public func watch(reading: Bool = true, writing: Bool) {
    let wanted = (reading ? Int32(UV_READABLE.rawValue) : 0) | (writing ? Int32(UV_WRITABLE.rawValue) : 0)
    guard !isClosed, wanted != events else { return }
    events = wanted
    guard wanted != 0 else {
      uv_poll_stop(poll)
      return
    }
    uv_poll_start(poll, wanted) { handle, status, events in
      let watch = Unmanaged<Watch>.fromOpaque(handle!.pointee.data).takeUnretainedValue()
      // An error shows when the descriptor is read, but what came before it is read first: libuv, which has stopped, must
      // tell of it again.
      if status < 0 { watch.startAgain() }
      watch.body(status < 0 || events & Int32(UV_READABLE.rawValue) != 0, events & Int32(UV_WRITABLE.rawValue) != 0)
    }
  }

  private func startAgain() {
    let former = events
    events = 0
    watch(
      reading: former & Int32(UV_READABLE.rawValue) != 0, writing: former & Int32(UV_WRITABLE.rawValue) != 0)
  }

  /// No call comes afterwards; the descriptor is its owner's to close, now.
  public func close() {
    guard !isClosed else { return }
    isClosed = true
    uv_poll_stop(poll)
    uv_close(UnsafeMutableRawPointer(poll).assumingMemoryBound(to: uv_handle_t.self)) { handle in
      Unmanaged<Watch>.fromOpaque(handle!.pointee.data).release()
      handle!.deallocate()
    }
  }
}

/// Calls back on the library thread at a time.
public final class LoopTimer {
  private let loop: Loop
  private let timer: UnsafeMutablePointer<uv_timer_t>
  private let body: () -> Void
  private var deadline: Int64?
  private var isClosed = false

  /// It lives until `close`.
  public init(on loop: Loop, _ body: @escaping () -> Void) {
    self.loop = loop
    self.body = body
    timer = .allocate(capacity: 1)
    uv_timer_init(loop.loop, timer)
    timer.pointee.data = Unmanaged.passRetained(self).toOpaque()
  }

  /// - Parameter deadline: uptime in milliseconds; nil: never.
  public func set(_ deadline: Int64?) {
    guard !isClosed, deadline != self.deadline else { return }
    self.deadline = deadline
    guard let deadline else {
      uv_timer_stop(timer)
      return
    }
    uv_update_time(loop.loop)
    uv_timer_start(
      timer,
      { handle in
        let timer = Unmanaged<LoopTimer>.fromOpaque(handle!.pointee.data).takeUnretainedValue()
        timer.deadline = nil
        timer.body()
      }, UInt64(max(0, deadline - Clock.uptime)), 0)
  }

  public func close() {
    guard !isClosed else { return }
    isClosed = true
    uv_timer_stop(timer)
    uv_close(UnsafeMutableRawPointer(timer).assumingMemoryBound(to: uv_handle_t.self)) { handle in
      Unmanaged<LoopTimer>.fromOpaque(handle!.pointee.data).release()
      UnsafeMutableRawPointer(handle!).assumingMemoryBound(to: uv_timer_t.self).deallocate()
    }
  }
}
