// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueModel
import SegueSystem
import SegueTransport

/// The end of a helper: a process that the launcher has started, and that writes its answer into a pipe.
enum HelperEnd {
  /// All that it has written.
  case output([UInt8])
  /// It has not ended in its time.
  case late
  /// It has written more than it may.
  case tooLong
  /// It was not started, for this reason.
  case notStarted(String)
}

/// Has helpers started, and reads what they write. For the loop.
final class HelperClient {
  /// A helper that runs.
  private final class Reading {
    let number: UInt64
    let socket: Int32
    let deadline: Int64
    let done: (HelperEnd) -> Void
    var watch: Watch?
    var bytes: [UInt8] = []

    init(_ number: UInt64, _ socket: Int32, _ deadline: Int64, _ done: @escaping (HelperEnd) -> Void) {
      (self.number, self.socket, self.deadline, self.done) = (number, socket, deadline, done)
    }
  }

  private let launcher: Launcher
  private let loop: Loop
  private let time: Int64
  private let sizeLimit: Int
  private var timer: LoopTimer?
  private var readings: [Reading] = []
  private var lastNumber: UInt64 = 0

  /// - Parameters:
  ///   - time: milliseconds for the launcher to start a helper, and for that to end.
  ///   - sizeLimit: bytes that it may write.
  init(_ launcher: Launcher, on loop: Loop, time: Int64, sizeLimit: Int) {
    (self.launcher, self.loop, self.time, self.sizeLimit) = (launcher, loop, time, sizeLimit)
  }

  /// The helpers that run.
  var count: Int { readings.count }

  /// Throws SYSTEM.
  func open() throws(SegueError) {
    let timer = try LoopTimer()
    try timer.start(on: loop, for: self)
    self.timer = timer
  }

  func close() {
    timer?.close()
    timer = nil
    for reading in readings { end(reading) }
    readings = []
  }

  /// - Parameter done: called once, in a later turn, unless the agent ends before.
  func run(_ request: LaunchRequest, _ done: @escaping (HelperEnd) -> Void) {
    do throws(SegueError) {
      try begin(request, done)
    } catch {
      loop.post { done(.notStarted(error.message)) }
    }
  }

  private func begin(_ request: LaunchRequest, _ done: @escaping (HelperEnd) -> Void) throws(SegueError) {
    var ends: [Int32] = [-1, -1]
    guard linux_pipe(&ends) == 0, linux_prepare(ends[0]) == 0 else { throw .system("asking \(request.app)") }
    lastNumber += 1
    let number = lastNumber
    let reading = Reading(number, ends[0], Clock.uptime + time, done)
    do throws(SegueError) {
      defer { _ = CLinux.close(ends[1]) }
      reading.watch = try Watch(ends[0], on: loop, for: self)
      try launcher.launch(request, with: ends[1]) { [self] result in
        if case .failure(let error) = result { finish(number, .notStarted(error.message)) }
      }
    } catch {
      end(reading)
      throw error
    }
    readings.append(reading)
    timer?.set(readings.first?.deadline)
  }

  private func read(_ reading: Reading) {
    let number = reading.number
    while true {
      var count = 0
      let more = [UInt8](unsafeUninitializedCapacity: 16 * 1024) { buffer, size in
        count = CLinux.read(reading.socket, buffer.baseAddress, buffer.count)
        size = max(0, count)
      }
      if count < 0, linux_errno() == EAGAIN || linux_errno() == EINTR { return }
      reading.bytes += more
      guard count > 0 else { return finish(number, .output(reading.bytes)) }
      guard reading.bytes.count <= sizeLimit else { return finish(number, .tooLong) }
    }
  }

  private func finish(_ number: UInt64, _ result: HelperEnd) {
    guard let index = readings.firstIndex(where: { $0.number == number }) else { return }
    let reading = readings.remove(at: index)
    end(reading)
    timer?.set(readings.first?.deadline)
    reading.done(result)
  }

  private func end(_ reading: Reading) {
    reading.watch?.close()
    reading.watch = nil
    _ = CLinux.close(reading.socket)
  }

}

extension HelperClient: WatchOwner, TimerOwner {
  func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) {
    if let reading = readings.first(where: { $0.watch === watch }) { read(reading) }
  }

  func timerIsDue(_ timer: LoopTimer) {
    let now = Clock.uptime
    while let late = readings.first(where: { $0.deadline <= now }) { finish(late.number, .late) }
    timer.set(readings.first?.deadline)
  }
}
