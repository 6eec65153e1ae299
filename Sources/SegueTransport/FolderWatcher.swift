// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// Calls back on the library thread when files in a runtime folder appear or disappear, such as another generation of
/// the hub.
///
/// If the system has no inotify instance left (usually 128 per user), it polls the folder: soon after a change, and
/// less and less often while there is none. It asks for inotify again at each poll.
public final class FolderWatcher {
  private let folder: RuntimeFolder
  private var loop: Loop?
  private var body: (() -> Void)?
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
  public func start(on loop: Loop, _ body: @escaping () -> Void) throws(SegueError) {
    guard self.body == nil else { return }
    self.loop = loop
    if try !watchFolder(body) {
      let timer = try LoopTimer()
      // `close` is called before this object is released.
      try timer.start(on: loop) { [unowned(unsafe) self] in self.look() }
      self.timer = timer
      timer.set(Clock.uptime + interval)
    }
    self.body = body
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
  }

  /// False if the system has no inotify instance left.
  private func watchFolder(_ body: @escaping () -> Void) throws(SegueError) -> Bool {
    guard let loop else { return false }
    let fd = linux_inotify()
    guard fd >= 0 else { return false }
    guard folder.addWatch(fd) else {
      _ = CLinux.close(fd)
      return false
    }
    _ = Descriptors.own(fd)
    do throws(SegueError) {
      watch = try Watch(fd, on: loop) { [unowned(unsafe) self] _, _ in
        self.drain()
        self.changed()
      }
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
    guard !isPaused, let body else { return }
    // The call may release it.
    let this = Unmanaged.passRetained(self)
    defer { this.release() }
    let start = Clock.threadTime
    body()
    let time = min((Clock.threadTime - start) * Self.pauseFactor / 1_000, Self.longestPause)
    if time >= Self.shortestPause, watch != nil { startPause(time) }
  }

  private func startPause(_ time: Int64) {
    if pause == nil, let loop, let new = try? LoopTimer() {
      // `close` is called before this object is released.
      try? new.start(on: loop) { [unowned(unsafe) self] in self.endPause() }
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
    guard let body, let timer else { return }
    if (try? watchFolder(body)) == true {
      timer.close()
      self.timer = nil
      return body()
    }
    let state = folder.state
    interval = state == seen ? min(interval * 2, Self.longestInterval) : Self.firstInterval
    timer.set(Clock.uptime + interval)
    guard state != seen else { return }
    seen = state
    body()
  }

  private func drain() {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      while read(fd, buffer.baseAddress, buffer.count) > 0 {}
    }
  }
}
