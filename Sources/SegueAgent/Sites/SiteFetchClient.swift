// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueModel
import SegueSystem
import SegueTransport

/// Asks sites by processes that the launcher starts, and reads what they write. For the loop.
final class SiteFetchClient: SiteFetcher {
  /// Milliseconds for the launcher to start a process, and for that to end.
  private static let time: Int64 = 15_000

  /// A request that is under way.
  private final class Reading {
    let number: UInt64
    let socket: Int32
    let deadline: Int64
    let done: (SiteFetchResult) -> Void
    var watch: Watch?
    var bytes: [UInt8] = []

    init(_ number: UInt64, _ socket: Int32, _ deadline: Int64, _ done: @escaping (SiteFetchResult) -> Void) {
      (self.number, self.socket, self.deadline, self.done) = (number, socket, deadline, done)
    }
  }

  private let launcher: Launcher
  private let loop: Loop
  private var timer: LoopTimer?
  private var readings: [Reading] = []
  private var lastNumber: UInt64 = 0

  init(_ launcher: Launcher, on loop: Loop) { (self.launcher, self.loop) = (launcher, loop) }

  /// Throws SYSTEM.
  func open() throws(SegueError) {
    let timer = try LoopTimer()
    // `close` closes the timer before this object is released.
    try timer.start(on: loop) { [unowned(unsafe) self] in self.tick() }
    self.timer = timer
  }

  func close() {
    timer?.close()
    timer = nil
    for reading in readings { end(reading) }
    readings = []
  }

  func fetch(_ request: SiteFetch, _ done: @escaping (SiteFetchResult) -> Void) {
    do throws(SegueError) {
      try begin(request, done)
    } catch {
      loop.post { done(.notAsked(error.message)) }
    }
  }

  private func begin(_ request: SiteFetch, _ done: @escaping (SiteFetchResult) -> Void) throws(SegueError) {
    var ends: [Int32] = [-1, -1]
    guard linux_pipe(&ends) == 0, linux_prepare(ends[0]) == 0 else { throw .system("asking \(request.host)") }
    lastNumber += 1
    let number = lastNumber
    let reading = Reading(number, ends[0], Clock.uptime + Self.time, done)
    do throws(SegueError) {
      defer { _ = CLinux.close(ends[1]) }
      // `end` closes the watch before this object is released.
      reading.watch = try Watch(ends[0], on: loop) { [unowned(unsafe) self] _, _ in self.read(number) }
      try launcher.fetch(request, output: ends[1]) { [self] error in
        if let error { finish(number, .notAsked(error.message)) }
      }
    } catch {
      end(reading)
      throw error
    }
    readings.append(reading)
    timer?.set(readings.first?.deadline)
  }

  private func read(_ number: UInt64) {
    guard let reading = readings.first(where: { $0.number == number }) else { return }
    while true {
      var count = 0
      let more = [UInt8](unsafeUninitializedCapacity: 16 * 1024) { buffer, size in
        count = CLinux.read(reading.socket, buffer.baseAddress, buffer.count)
        size = max(0, count)
      }
      if count < 0, linux_errno() == EAGAIN || linux_errno() == EINTR { return }
      reading.bytes += more
      guard count > 0 else { return finish(number, SiteFetchOutput.decode(reading.bytes)) }
      guard reading.bytes.count <= SiteFetchOutput.sizeLimit else {
        return finish(number, .failed("the process that asks sites says too much"))
      }
    }
  }

  private func finish(_ number: UInt64, _ result: SiteFetchResult) {
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

  private func tick() {
    let now = Clock.uptime
    while let late = readings.first(where: { $0.deadline <= now }) {
      finish(late.number, .failed("the site has not answered in time"))
    }
    timer?.set(readings.first?.deadline)
  }
}
