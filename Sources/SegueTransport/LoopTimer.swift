// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// An object that has timers. For the library thread.
public protocol TimerOwner: AnyObject {
  /// The uptime of a timer has come, or is near. A timer whose uptime has come is unset.
  func timerIsDue(_ timer: LoopTimer)
}

/// Tells its owner on the library thread that an uptime has come, or is near.
public final class LoopTimer {
  private let timer: DeadlineTimer
  /// Nil before `start` and after `close`. The timer keeps its owner until then, and during each call.
  private var started: (watch: Watch, owner: any TimerOwner)?

  public convenience init() throws(SegueError) { self.init(try DeadlineTimer()) }

  private init(_ timer: DeadlineTimer) { self.timer = timer }

  /// Starts the timer. A second call has no effect. The timer lives until `close`.
  public func start(on loop: Loop, for owner: any TimerOwner) throws(SegueError) {
    guard started == nil else { return }
    started = (try Watch(timer.fd, on: loop, for: self), owner)
  }

  /// - Parameter deadline: uptime in milliseconds; nil: none. See `DeadlineTimer.set`.
  public func set(_ deadline: Int64?) { timer.set(deadline) }

  public func close() {
    started?.watch.close()
    started = nil
  }
}

extension LoopTimer: WatchOwner {
  public func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) {
    timer.clear(Clock.uptime)
    started?.owner.timerIsDue(self)
  }
}
