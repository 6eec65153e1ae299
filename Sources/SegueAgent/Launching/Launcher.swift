// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport

/// The agent's side of its launcher. After `start` all of it is for the loop.
public final class Launcher: ProgramLauncher {
  /// Requests that wait for an answer.
  private static let waitingLimit = 32
  /// Milliseconds for the launcher to answer; it gives the system 5 s for each program.
  private static let answerTime: Int64 = 10_000
  /// Milliseconds for an app to open after its program has started (R3.9).
  private static let openingTime: Int64 = 20_000

  private let socket: Int32
  /// The launcher's process.
  public let process: Int32
  private var watch: Watch?
  private var timer: LoopTimer?
  private var gate = LaunchGate()
  private var waiting: [Waiting] = []
  private var lastNumber: UInt64 = 0
  private var ended: (() -> Void)?

  private struct Waiting {
    let number: UInt64
    let app: String
    /// The name under which it counts.
    let rateName: String?
    let deadline: Int64
    let answer: (Result<LaunchReply.Answer, SegueError>) -> Void
  }

  private init(_ socket: Int32, _ process: Int32) {
    self.socket = socket
    self.process = process
  }

  /// Starts the launcher's process: call it before any thread starts, and before the agent is confined.
  public static func start() throws(SegueError) -> Launcher {
    var ends: [Int32] = [-1, -1]
    guard linux_message_pair(&ends) == 0 else { throw .system("launcher") }
    let process = linux_fork()
    guard process >= 0 else {
      let number = linux_errno()
      for end in ends { _ = CLinux.close(end) }
      throw .system("launcher", number)
    }
    if process == 0 {
      _ = CLinux.close(ends[0])
      LauncherProcess.run(ends[1])
    }
    _ = CLinux.close(ends[1])
    return Launcher(ends[0], process)
  }

  /// Starts to read answers.
  /// - Parameter ended: called if the launcher's process ends.
  public func attach(to loop: Loop, ended: @escaping () -> Void) throws(SegueError) {
    self.ended = ended
    let timer = try LoopTimer()
    try timer.start(on: loop, for: self)
    self.timer = timer
    watch = try Watch(socket, on: loop, for: self)
  }

  /// Has a program started.
  /// - Parameters:
  ///   - descriptor: goes with the request; negative: none.
  ///   - answer: called once, later. The launch then counts as under way until
  ///     `opened`, or for 20 s.
  /// Throws INVALID_ARGUMENT (the request), BUSY (a launch of this app is under way, or too many wait), LIMIT_EXCEEDED
  /// (too many in a minute, or too long), CONNECTION_UNAVAILABLE (the launcher has ended).
  public func launch(
    _ request: LaunchRequest, with descriptor: Int32 = -1,
    _ answer: @escaping (Result<LaunchReply.Answer, SegueError>) -> Void
  ) throws(SegueError) {
    try request.check()
    guard watch != nil else { throw Self.gone(request.app) }
    guard waiting.count < Self.waitingLimit else {
      throw SegueError(.busy, "launch of \(request.app): \(Self.waitingLimit) others wait for the launcher")
    }
    let bytes = try request.encoded(as: lastNumber + 1)
    let now = Clock.uptime
    let rate = request.rate
    if let rate {
      // The answer of the launcher ends the opening of a page or a file: further ones go to the same program.
      let endsWithAnswer =
        switch request.kind {
        case .openPage, .openDocument: true
        case .startApp, .fetchSite, .lookUp, .listCommands, .runCommand, .lookAtProcess, .unknown: false
        }
      try gate.begin(rate.name, now, until: endsWithAnswer ? 0 : now + Self.openingTime, atMost: rate.limit)
    }
    lastNumber += 1
    guard bytes.withUnsafeBytes({ linux_send(socket, $0.baseAddress, $0.count, descriptor) }) >= 0 else {
      let number = linux_errno()
      if let rate { gate.end(rate.name) }
      if number == EAGAIN { throw SegueError(.busy, "launch of \(request.app): the launcher is busy") }
      throw .system("launch of \(request.app)", number)
    }
    let deadline = now + Self.answerTime
    waiting.append(
      Waiting(number: lastNumber, app: request.app, rateName: rate?.name, deadline: deadline, answer: answer))
    timer?.set(waiting.first?.deadline)
  }

  public func launch(
    _ app: String, _ environment: [LaunchVariable], _ done: @escaping (SegueError?) -> Void
  ) throws(SegueError) {
    // The launcher reads the manifest itself (A27).
    try launch(LaunchRequest(.startApp(app), environment: environment)) { result in
      if case .failure(let error) = result { done(error) } else { done(nil) }
    }
  }

  public func open(
    _ page: String, in browser: String, _ environment: [LaunchVariable], _ done: @escaping (SegueError?) -> Void
  ) throws(SegueError) {
    try launch(LaunchRequest(.openPage(page, browser: browser), environment: environment)) { result in
      if case .failure(let error) = result { done(error) } else { done(nil) }
    }
  }

  public func open(
    _ document: OpenedDocument, with opener: String, _ environment: [LaunchVariable],
    _ done: @escaping (SegueError?) -> Void
  ) throws(SegueError) {
    try launch(LaunchRequest(.openDocument(document, opener: opener), environment: environment)) { result in
      if case .failure(let error) = result { done(error) } else { done(nil) }
    }
  }

  /// An app that was launched has opened: it may be launched again.
  public func opened(_ app: String) { gate.end(app) }

  /// Ends the launcher's process, and fails what waits.
  public func close() {
    timer?.close()
    watch?.close()
    watch = nil
    _ = CLinux.close(socket)
    fail(waiting.map { $0.number })
  }

  private func receive() {
    while watch != nil {
      var count = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: LaunchReply.sizeLimit) { buffer, used in
        count = linux_receive_message(socket, buffer.baseAddress, buffer.count, 0)
        used = max(0, min(count, buffer.count))
      }
      if count < 0 {
        guard linux_errno() != EAGAIN, linux_errno() != EINTR else { return }
        return lost()
      }
      guard count > 0 else { return lost() }
      guard let reply = bytes.withUnsafeBytes({ LaunchReply.decode($0) }),
        let index = waiting.firstIndex(where: { $0.number == reply.number })
      else { continue }
      finish(waiting.remove(at: index), reply.result)
    }
  }

  private func finish(_ launch: Waiting, _ result: Result<LaunchReply.Answer, SegueError>) {
    if case .failure = result, let name = launch.rateName { gate.end(name) }
    launch.answer(result)
  }

  private func lost() {
    watch?.close()
    watch = nil
    fail(waiting.map { $0.number })
    ended?()
  }

  private func fail(_ numbers: [UInt64]) {
    for number in numbers {
      guard let index = waiting.firstIndex(where: { $0.number == number }) else { continue }
      let launch = waiting.remove(at: index)
      finish(launch, .failure(Self.gone(launch.app)))
    }
  }

  private func endLate() {
    let now = Clock.uptime
    while let index = waiting.firstIndex(where: { $0.deadline <= now }) {
      let launch = waiting.remove(at: index)
      finish(launch, .failure(SegueError(.system, "launch of \(launch.app): the launcher does not answer")))
    }
    timer?.set(waiting.first?.deadline)
  }

  private static func gone(_ app: String) -> SegueError {
    SegueError(.connectionUnavailable, "launch of \(app): the launcher has ended")
  }
}

extension Launcher: WatchOwner, TimerOwner {
  public func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) { receive() }
  public func timerIsDue(_ timer: LoopTimer) { endLate() }
}
