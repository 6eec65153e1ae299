// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// Calls back on the library thread at an uptime, or soon after it; then the timer is unset.
public final class LoopTimer {
  private let timer: DeadlineTimer
  private var watch: Watch?

  public convenience init() throws(SegueError) { self.init(try DeadlineTimer()) }

  private init(_ timer: DeadlineTimer) { self.timer = timer }

  /// Starts the timer. A second call has no effect. The timer lives until `close`.
  public func start(on loop: Loop, _ body: @escaping () -> Void) throws(SegueError) {
    guard watch == nil else { return }
    watch = try Watch(timer.fd, on: loop) { [unowned(unsafe) self] _, _ in
      // `close` is called before this object is released.
      self.timer.clear(Clock.uptime)
      body()
    }
  }

  /// - Parameter deadline: uptime in milliseconds; nil: none. See `DeadlineTimer.set`.
  public func set(_ deadline: Int64?) { timer.set(deadline) }

  public func close() {
    watch?.close()
    watch = nil
  }
}
