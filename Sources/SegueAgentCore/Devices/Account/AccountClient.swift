// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The thread of the account, as its client uses it: in the fleet the disk of a machine, which takes its time. For one
/// thread.
public protocol AccountExecutor: AnyObject {
  /// Uses the account on its thread, after all that was asked before.
  /// - Parameters:
  ///   - isFirst: whether the job may make the first account; if not, and there is none, `job` is not called.
  ///   - size: the bytes that the job holds.
  ///   - job: returns the events that follow.
  ///   - done: called once, in a later turn: with the account afterwards, and the events. Fails with NOT_FOUND if there
  ///     is no account, BUSY if too much waits.
  func run(
    isFirst: Bool, size: Int, _ job: @escaping (AccountService, Instant) -> [AccountEvent],
    _ done: @escaping (AccountReport) -> Void)
}

/// The answer of the account's thread.
public struct AccountReport {
  /// The error if the job could not be done; nil if it was.
  public let error: SegueError?
  /// The events that follow from it, in this order.
  public let events: [AccountEvent]
  /// The state of the account afterwards; nil if it could not be asked.
  public let account: AccountSnapshot?

  public init(error: SegueError? = nil, events: [AccountEvent] = [], account: AccountSnapshot?) {
    (self.error, self.events, self.account) = (error, events, account)
  }
}

/// The owner of an `AccountClient`.
protocol AccountClientOwner: AnyObject {
  /// Takes the account as it is after a use, and handles what follows from that.
  func used(_ account: AccountSnapshot, _ events: [AccountEvent])
}

/// The account as the agent's other parts use it: each use is a job of the account's thread, and its results come back
/// in the same order. For one thread.
public final class AccountClient {
  private let executor: any AccountExecutor
  /// The owner sets this to nil before it is released. What was asked before is then answered with an error.
  unowned(unsafe) var owner: (any AccountClientOwner)?

  public init(_ executor: any AccountExecutor) { self.executor = executor }

  /// Uses the account on its thread.
  /// - Parameters:
  ///   - isFirst: whether this may make the first account; if not, NOT_FOUND is answered where there is none.
  ///   - size: the bytes that the call holds.
  ///   - began: called before the events are handled, if `body` did not throw.
  ///   - answer: called once, after the events were handled.
  public func use<Success>(
    isFirst: Bool = false, size: Int = 0,
    _ body: @escaping (AccountService, Instant) throws(SegueError) -> (events: [AccountEvent], value: Success),
    began: ((Success) -> Void)? = nil, _ answer: @escaping (Result<Success, SegueError>) -> Void
  ) {
    let output = JobOutput<Success>()
    executor.run(isFirst: isFirst, size: size) { service, now in
      do throws(SegueError) {
        let (events, value) = try body(service, now)
        output.result = .success(value)
        return events
      } catch {
        output.result = .failure(error)
        return []
      }
    } _: { [self] report in
      if let error = report.error { output.result = .failure(error) }
      guard let account = report.account else { return answer(output.value) }
      guard let owner else { return answer(.failure(SegueError(.connectionUnavailable, "the agent ends"))) }
      if case .success(let value) = output.value { began?(value) }
      owner.used(account, report.events)
      answer(output.value)
    }
  }

  /// Does the same for what has no answer; errors become notices.
  public func perform(
    size: Int = 0, _ body: @escaping (AccountService, Instant) throws(SegueError) -> [AccountEvent],
    _ answer: @escaping () -> Void = {}
  ) {
    use(
      size: size,
      { service, now throws(SegueError) in
        do throws(SegueError) { return (try body(service, now), ()) } catch { return ([.notice(error)], ()) }
      }
    ) { (_: Result<Void, SegueError>) in answer() }
  }
}

/// The result of a job, which one thread writes, and another one reads later. Unchecked: the executor orders them.
private final class JobOutput<Success>: @unchecked Sendable {
  var result: Result<Success, SegueError>?
  var value: Result<Success, SegueError> {
    result ?? .failure(SegueError(.invalidState, "the account's thread has not done its job"))
  }
}
