// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The caller of a continuation, who waits for its beginning or its end.
struct ContinuationCaller {
  let number: UInt64
  let client: ControlClient
  /// The variables that say where a launched program shows itself.
  let environment: [LaunchVariable]
  /// Called once the app is chosen; nil: the client waits for the end.
  let began: InboxService.Began?
  var hasBegun = false
  let answer: (Result<AgentContinuationReport, SegueError>) -> Void
}

/// The callers of the inbox that wait for the answer of its engine.
struct InboxCallers {
  /// The most withdrawals that wait for the disk.
  static let withdrawalLimit = 256

  private var lastNumber: UInt64 = 0
  private var continuations: [ContinuationCaller] = []
  /// The callers that wait until a kept offer is withdrawn.
  private var withdrawals: [(number: UInt64, done: (SegueError?) -> Void)] = []
  /// The callers that wait for an offer.
  private var looks: [(number: UInt64, done: (Result<AppChoice, SegueError>) -> Void)] = []
  /// The callers that wait until a push for another device is stored.
  private var keptPushes: [(id: Identifier, done: (SegueError?) -> Void)] = []

  /// Returns a number for a call, which was not used before.
  mutating func takeNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  // MARK: Continuations

  /// Adds the caller of a continuation that the engine gets next.
  mutating func add(_ caller: ContinuationCaller) { continuations.append(caller) }

  /// The numbers of the continuations of a client that have not begun.
  func continuations(of client: ControlClient) -> [UInt64] {
    continuations.filter { $0.client.number == client.number && !$0.hasBegun }.map { $0.number }
  }

  /// The variables for the programs of a continuation.
  func environment(of number: UInt64) -> [LaunchVariable] {
    continuations.first { $0.number == number }?.environment ?? []
  }

  /// A continuation begins.
  /// - Returns: what its caller wants called; nil if it waits for the end.
  mutating func begin(_ number: UInt64) -> InboxService.Began? {
    guard let index = continuations.firstIndex(where: { $0.number == number }), let began = continuations[index].began
    else { return nil }
    continuations[index].hasBegun = true
    return began
  }

  /// Removes the caller of a continuation, which has ended.
  mutating func takeContinuation(_ number: UInt64) -> ContinuationCaller? {
    guard let index = continuations.firstIndex(where: { $0.number == number }) else { return nil }
    return continuations.remove(at: index)
  }

  // MARK: Others

  /// - Returns: the number of the withdrawal; nil if too many wait.
  mutating func addWithdrawal(_ done: @escaping (SegueError?) -> Void) -> UInt64? {
    guard withdrawals.count < Self.withdrawalLimit else { return nil }
    let number = takeNumber()
    withdrawals.append((number, done))
    return number
  }

  /// Removes the caller of a withdrawal, which has ended.
  mutating func takeWithdrawal(_ number: UInt64) -> ((SegueError?) -> Void)? {
    guard let index = withdrawals.firstIndex(where: { $0.number == number }) else { return nil }
    return withdrawals.remove(at: index).done
  }

  /// - Returns: the number of the look.
  mutating func addLook(_ done: @escaping (Result<AppChoice, SegueError>) -> Void) -> UInt64 {
    let number = takeNumber()
    looks.append((number, done))
    return number
  }

  /// Removes the caller of a look, which has ended.
  mutating func takeLook(_ number: UInt64) -> ((Result<AppChoice, SegueError>) -> Void)? {
    guard let index = looks.firstIndex(where: { $0.number == number }) else { return nil }
    return looks.remove(at: index).done
  }

  /// - Parameter id: of the push that is to be stored.
  mutating func addKeptPush(_ id: Identifier, _ done: @escaping (SegueError?) -> Void) {
    keptPushes.append((id, done))
  }

  /// Removes the caller that wanted a push kept.
  mutating func takeKeptPush(_ id: Identifier) -> ((SegueError?) -> Void)? {
    guard let index = keptPushes.firstIndex(where: { $0.id == id }) else { return nil }
    return keptPushes.remove(at: index).done
  }
}
