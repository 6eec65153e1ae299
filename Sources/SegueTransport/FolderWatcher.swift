// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// An object that has a folder watched. For the library thread.
public protocol FolderWatcherOwner: AnyObject {
  /// Files in the folder have appeared or disappeared.
  func folderChanged()
}

/// Tells its owner on the library thread when files in a runtime folder appear or disappear, such as another generation
/// of the hub.
///
/// If the system has no inotify instance left (usually 128 per user), it polls the folder: soon after a change, and
/// less and less often while there is none. It asks for inotify again at each poll.
public final class FolderWatcher {
  private let folder: RuntimeFolder
  /// Nil before `start` and after `close`. The owner is kept until then.
  private var started: (loop: Loop, owner: any FolderWatcherOwner)?
  /// Negative if the system refuses one.
  private var fd: Int32 = -1
  private var watch: Watch?

  /// Nil until it is needed: see `changed`.
  private var pause: LoopTimer?
  private var isPaused = false
  /// Whether there was a change in the pause.
  private var isDue = false

  // Without inotify.
  private var timer: LoopTimer?
  private var interval = FolderWatcher.firstInterval
  private var seen: RuntimeFolder.State

  /// Milliseconds between two polls.
  private static let firstInterval: Int64 = 100
  private static let longestInterval: Int64 = 5_000
  /// The pause after a call, as a multiple of the time that it has taken; milliseconds, and the most.
  private static let pauseFactor: Int64 = 8
  private static let shortestPause: Int64 = 8
  private static let longestPause: Int64 = 200

  public init(_ folder: RuntimeFolder) {
    self.folder = folder
    seen = folder.state
  }

  deinit { Descriptors.close(fd) }

  /// Starts to watch. No effect if it has started.
  public func start(on loop: Loop, for owner: any FolderWatcherOwner) throws(SegueError) {
    guard started == nil else { return }
    if try !watchFolder(on: loop) {
      let timer = try LoopTimer()
      try timer.start(on: loop, for: self)
      self.timer = timer
      timer.set(Clock.uptime + interval)
    }
    started = (loop, owner)
  }

  /// A change is likely: polls more often.
  public func lookSoon() {
    guard let timer else { return }
    interval = Self.firstInterval
    timer.set(Clock.uptime + interval)
  }

  public func close() {
    watch?.close()
    watch = nil
    timer?.close()
    timer = nil
    pause?.close()
    pause = nil
    started = nil
  }

  /// False if the system has no inotify instance left.
  private func watchFolder(on loop: Loop) throws(SegueError) -> Bool {
    let fd = linux_inotify()
    guard fd >= 0 else { return false }
    guard folder.addWatch(fd) else {
      _ = CLinux.close(fd)
      return false
    }
    _ = Descriptors.own(fd)
    do throws(SegueError) {
      watch = try Watch(fd, on: loop, for: self)
    } catch {
      Descriptors.close(fd)
      throw error
    }
    self.fd = fd
    return true
  }

  /// Calls back, and pauses if that has taken long: a folder with 50,000 files that changes all the time costs a ninth
  /// of this thread's time.
  private func changed() {
    isDue = isPaused
    guard !isPaused, let started else { return }
    let start = Clock.threadTime
    started.owner.folderChanged()
    let time = min((Clock.threadTime - start) * Self.pauseFactor / 1_000, Self.longestPause)
    if time >= Self.shortestPause, watch != nil { startPause(time) }
  }

  private func startPause(_ time: Int64) {
    if pause == nil, let started, let new = try? LoopTimer() {
      try? new.start(on: started.loop, for: self)
      pause = new
    }
    isPaused = pause != nil
    pause?.set(Clock.uptime + time)
  }

  private func endPause() {
    isPaused = false
    if isDue { changed() }
  }

  private func look() {
    guard let started, let timer else { return }
    if (try? watchFolder(on: started.loop)) == true {
      timer.close()
      self.timer = nil
      return started.owner.folderChanged()
    }
    let state = folder.state
    interval = state == seen ? min(interval * 2, Self.longestInterval) : Self.firstInterval
    timer.set(Clock.uptime + interval)
    guard state != seen else { return }
    seen = state
    started.owner.folderChanged()
  }

  private func drain() {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      while read(fd, buffer.baseAddress, buffer.count) > 0 {}
    }
  }
}

extension FolderWatcher: WatchOwner, TimerOwner {
  public func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) {
    drain()
    changed()
  }

  public func timerIsDue(_ timer: LoopTimer) { if timer === pause { endPause() } else { look() } }
}
