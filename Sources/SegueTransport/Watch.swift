// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLibUV
import SegueModel
import SegueSystem

/// An object that has descriptors watched. For the library thread.
public protocol WatchOwner: AnyObject {
  /// A descriptor is ready.
  func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool)
}

/// Tells its owner on the library thread while a descriptor is ready.
public final class Watch {
  private let poll: UnsafeMutablePointer<uv_poll_t>
  /// Nil once the watch is closed. It keeps its owner until then, and during each call.
  private var owner: (any WatchOwner)?
  private var events: Int32 = 0

  /// Watches for reading. The watch lives until `close`.
  public init(_ fd: Int32, on loop: Loop, for owner: any WatchOwner) throws(SegueError) {
    self.owner = owner
    poll = .allocate(capacity: 1)
    let result = uv_poll_init(loop.loop, poll, fd)
    guard result == 0 else {
      poll.deallocate()
      throw .system("watching a descriptor", -result)
    }
    poll.pointee.data = Unmanaged.passRetained(self).toOpaque()
    watch(writing: false)
  }

  /// Sets whether to watch for reading and for writing.
  public func watch(reading: Bool = true, writing: Bool) {
    let wanted = (reading ? Int32(UV_READABLE.rawValue) : 0) | (writing ? Int32(UV_WRITABLE.rawValue) : 0)
    guard owner != nil, wanted != events else { return }
    events = wanted
    guard wanted != 0 else {
      uv_poll_stop(poll)
      return
    }
    uv_poll_start(poll, wanted) { handle, status, events in
      let watch = Unmanaged<Watch>.fromOpaque(handle!.pointee.data).takeUnretainedValue()
      // An error shows when the descriptor is read, but earlier bytes are read first: libuv has stopped, and must
      // report the error again.
      if status < 0 { watch.startAgain() }
      watch.owner?.watchIsReady(
        watch, reading: status < 0 || events & Int32(UV_READABLE.rawValue) != 0,
        writing: events & Int32(UV_WRITABLE.rawValue) != 0)
    }
  }

  private func startAgain() {
    let former = events
    events = 0
    watch(
      reading: former & Int32(UV_READABLE.rawValue) != 0, writing: former & Int32(UV_WRITABLE.rawValue) != 0)
  }

  /// Stops watching: no call follows, and the owner may close the descriptor.
  public func close() {
    guard owner != nil else { return }
    owner = nil
    uv_poll_stop(poll)
    uv_close(UnsafeMutableRawPointer(poll).assumingMemoryBound(to: uv_handle_t.self)) { handle in
      Unmanaged<Watch>.fromOpaque(handle!.pointee.data).release()
      handle!.deallocate()
    }
  }
}
