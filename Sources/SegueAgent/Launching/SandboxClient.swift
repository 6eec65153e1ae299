// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueSystem
import SegueTransport

/// Has the launcher look into the sandboxes of processes, one after the other: Landlock keeps the agent from that
/// (R13.8). For the loop.
final class SandboxClient {
  /// Processes that wait at a time; of one process number a quarter.
  static let limit = 64
  /// Milliseconds for the launcher to look: it may be starting a program.
  static let time: Int64 = 2_000

  private struct Waiting {
    let number: UInt64
    let held: Int32
    let process: Int32
    let deadline: Int64
    let done: (PeerStanding) -> Void
  }

  private let launcher: Launcher
  private let loop: Loop
  private var timer: LoopTimer?
  private var waiting: [Waiting] = []
  /// The look that the launcher has been asked for, also if it comes too late.
  private var asked: UInt64?
  private var lastNumber: UInt64 = 0

  init(_ launcher: Launcher, on loop: Loop) { (self.launcher, self.loop) = (launcher, loop) }

  /// Throws SYSTEM.
  func open() throws(SegueError) {
    let timer = try LoopTimer()
    try timer.start(on: loop, for: self)
    self.timer = timer
  }

  func close() {
    timer?.close()
    timer = nil
    for each in waiting { Descriptors.close(each.held) }
    waiting = []
  }

  /// Takes over the descriptor of a process.
  /// - Parameter done: called once, in a later turn, unless the agent ends before. An app that is refused because the
  ///   launcher is busy comes again.
  func look(_ held: Int32, _ process: Int32, _ done: @escaping (PeerStanding) -> Void) {
    guard waiting.count < Self.limit, waiting.count(where: { $0.process == process }) < Self.limit / 4 else {
      Descriptors.close(held)
      let error = SegueError(.limitExceeded, "too many apps wait for a look at their sandboxes")
      return loop.post { done(.refused(error)) }
    }
    lastNumber += 1
    let deadline = Clock.uptime + Self.time
    waiting.append(Waiting(number: lastNumber, held: held, process: process, deadline: deadline, done: done))
    timer?.set(waiting.first?.deadline)
    askNext()
  }

  private func askNext() {
    guard asked == nil, let next = waiting.first else { return }
    asked = next.number
    do throws(SegueError) {
      try launcher.launch(LaunchRequest(.lookAtProcess), with: next.held) { [self] result in
        asked = nil
        switch result {
        case .success(.sandbox(let sandbox)): finish(next.number, sandbox.map { .sandboxed($0) } ?? .free)
        case .success(.process): finish(next.number, Self.late)
        case .failure(let error): finish(next.number, Self.refused(error))
        }
      }
    } catch {
      loop.post { [self] in
        asked = nil
        finish(next.number, Self.refused(error))
      }
    }
  }

  private func finish(_ number: UInt64, _ standing: PeerStanding) {
    if let index = waiting.firstIndex(where: { $0.number == number }) {
      let look = waiting.remove(at: index)
      Descriptors.close(look.held)
      timer?.set(waiting.first?.deadline)
      look.done(standing)
    }
    askNext()
  }

  /// An app that the launcher could not look at comes again, and looks for no other hub.
  private static func refused(_ error: SegueError) -> PeerStanding {
    .refused(error.status == .notAllowed ? error : SegueError(.limitExceeded, DiagnosticText(of: error.message)))
  }

  private static var late: PeerStanding {
    .refused(SegueError(.limitExceeded, "the launcher has not looked at the app's sandbox within 2 s"))
  }
}

extension SandboxClient: TimerOwner {
  func timerIsDue(_ timer: LoopTimer) {
    let now = Clock.uptime
    while let late = waiting.first(where: { $0.deadline <= now }) { finish(late.number, Self.late) }
    timer.set(waiting.first?.deadline)
  }
}
