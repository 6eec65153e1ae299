// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueEngine
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport
import SegueWire

/// The standard input and output of a command that leads to a device (R14.4), as a socket. The process that runs the
/// command reports over another one, and ends the command when that is closed. For the loop.
final class CommandConnection: LinkSocket {
  /// Milliseconds for the command to tell why it has ended, after its output has.
  private static let endingTime: Int64 = 1_000
  /// The most messages that are read in a turn.
  private static let turn = 64

  private enum State {
    /// The command is being started.
    case starting
    case running(TCPConnection)
    /// Its output has ended, and the reason is yet to come.
    case ending(TCPConnection)
    /// It has ended while the connection is open; nil: before it has started.
    case ended(TCPConnection?)
    case closed
  }

  /// Starts the process that runs the command, with one end of a pair of sockets; `done` is called with why it was not.
  typealias Start = (_ end: Int32, _ done: @escaping (SegueError) -> Void) throws(SegueError) -> Void

  private let name: String
  private let begin: Start
  private let loop: Loop
  private let timer: LoopTimer
  private let report: Int32
  /// The end of the other process, until it is passed on.
  private var passed: Int32
  private var watch: Watch?
  private var state = State.starting
  private var talk = CommandTalk()
  private var wanted = (reading: true, writing: false)
  private var ready: ((_ isReadable: Bool, _ isWritable: Bool) -> Void)?

  /// - Parameter name: of the device, for logs.
  /// Throws SYSTEM.
  convenience init(to name: String, on loop: Loop, _ begin: @escaping Start) throws(SegueError) {
    let timer = try LoopTimer()
    var ends: [Int32] = [-1, -1]
    guard linux_message_pair(&ends) == 0 else { throw .system("the command for \(name)") }
    self.init(name, loop, timer, ends, begin)
  }

  private init(_ name: String, _ loop: Loop, _ timer: LoopTimer, _ ends: [Int32], _ begin: @escaping Start) {
    (self.name, self.loop, self.timer, self.begin) = (name, loop, timer, begin)
    (report, passed) = (ends[0], ends[1])
  }

  func start(_ ready: @escaping (_ isReadable: Bool, _ isWritable: Bool) -> Void) throws(SegueError) {
    self.ready = ready
    do throws(SegueError) {
      // Both keep this object until `close`.
      try timer.start(on: loop, for: self)
      watch = try Watch(report, on: loop, for: self)
      try begin(passed) { [self] error in end(error.message) }
      closePassed()
    } catch {
      close()
      throw error
    }
  }

  private func closePassed() {
    if passed >= 0 { _ = CLinux.close(passed) }
    passed = -1
  }

  // MARK: Reports

  private func receive() {
    for _ in 0..<Self.turn {
      guard watch != nil else { return }
      var (count, descriptor): (Int, Int32) = (0, -1)
      let bytes = [UInt8](unsafeUninitializedCapacity: CommandReport.sizeLimit) { buffer, used in
        count = linux_receive_report(report, buffer.baseAddress, buffer.count, &descriptor)
        used = max(0, min(count, buffer.count))
      }
      if count < 0, linux_errno() == EAGAIN || linux_errno() == EINTR { return }
      guard count > 0 else { return end("the process that runs the command has ended") }
      take(CommandReport.decode(bytes), descriptor)
    }
  }

  private func take(_ report: CommandReport?, _ descriptor: Int32) {
    switch (report, state) {
    case (.started, .starting) where descriptor >= 0: return run(descriptor)
    case (.said(let bytes), _): log(talk.takeErrors(bytes))
    case (.ended(let reason), _): end(reason)
    case (.started, _), (nil, _): break
    }
    if descriptor >= 0 { _ = CLinux.close(descriptor) }
  }

  private func log(_ lines: [String]) { for line in lines { Log.info("\(name): \(line)") } }

  private func run(_ descriptor: Int32) {
    do throws(SegueError) {
      guard linux_prepare(descriptor) == 0 else {
        let error = SegueError.system("the command")
        Descriptors.close(descriptor)
        throw error
      }
      let data = TCPConnection(descriptor, nil, on: loop)
      try data.start { [self] isReadable, isWritable in ready?(isReadable, isWritable) }
      data.watch(reading: wanted.reading, writing: wanted.writing)
      state = .running(data)
    } catch { end(error.message) }
  }

  private func end(_ reason: String) {
    log(talk.end(reason))
    watch?.close()
    watch = nil
    switch state {
    case .starting:
      state = .ended(nil)
      // It could not be connected.
      loop.post { [self] in if case .ended = state { ready?(false, true) } }
    case .running(let data), .ending(let data):
      // Its output of before is read first. Others may hold that, so that no end of it comes. What is written goes
      // nowhere, so that there would always be room for it.
      state = .ended(data)
      data.watch(reading: wanted.reading, writing: false)
      loop.post { [self] in if case .ended = state { ready?(true, false) } }
    case .ended, .closed: break
    }
  }

  // MARK: LinkSocket

  private var data: TCPConnection? {
    switch state {
    case .running(let data), .ending(let data): data
    case .ended(let data): data
    case .starting, .closed: nil
    }
  }

  var failure: SegueError? {
    guard case .ended(nil) = state else { return nil }
    return SegueError(.connectionUnavailable, "its command was not started")
  }

  func explanation(of error: SegueError, hasKnocked: Bool) -> SegueError {
    talk.explanation(of: error, hasKnocked: hasKnocked)
  }

  var unread: Int { data?.unread ?? 0 }
  // A command that hangs is found by the heartbeats of the link.
  func probe() {}

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    guard let data else { return .closed }
    let result = data.read(atMost: limit) { bytes, descriptor in
      talk.takeOutput(bytes)
      body(bytes, descriptor)
    }
    guard result != .full else { return result }
    switch state {
    case .ended: return .closed
    case .running(let data) where result == .closed:
      state = .ending(data)
      data.watch(reading: false, writing: false)
      timer.set(Clock.uptime + Self.endingTime)
      return .drained
    case .ending: return .drained
    case .running, .starting, .closed: return result
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    guard case .running(let data) = state else { return .bytes(0) }
    return data.write(bytes, descriptor)
  }

  func watch(reading: Bool, writing: Bool) {
    let isResumed = reading && !wanted.reading
    wanted = (reading, writing)
    switch state {
    case .running(let data): data.watch(reading: reading, writing: writing)
    case .ended(let data):
      data?.watch(reading: reading, writing: false)
      // No event tells again that it has ended.
      if isResumed { loop.post { [self] in if case .ended = state { ready?(true, false) } } }
    case .starting, .ending, .closed: break
    }
  }

  var pollable: PollableConnection? { data?.pollable }

  /// The process that runs the command ends it.
  func close() {
    if case .closed = state { return }
    data?.close()
    state = .closed
    ready = nil
    timer.close()
    watch?.close()
    watch = nil
    closePassed()
    _ = CLinux.close(report)
  }
}

extension CommandConnection: WatchOwner, TimerOwner {
  /// Reports have come.
  func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) { receive() }
  /// No reason has come.
  func timerIsDue(_ timer: LoopTimer) { if case .ending = state { end("the command has ended its output") } }
}
