import SegueModel
import SegueSystem
import SegueTransport
import SegueTrust

/// The account as the loop uses it: each use is a job of the account's thread, and its results come back in the same
/// order. For the loop.
final class AccountClient {
  private let thread: AccountThread
  private let loop: Loop
  /// Called after each use, with what there is then, and what follows from the use. Nil after `close`.
  var changed: ((AccountSnapshot, [AccountEvent]) -> Void)?

  /// - Parameter thread: has been started.
  init(_ thread: AccountThread, on loop: Loop) {
    self.thread = thread
    self.loop = loop
  }

  /// Uses the account on its thread.
  /// - Parameters:
  ///   - isFirst: whether this may make the first account; if not, NOT_FOUND is answered where there is none.
  ///   - size: the bytes that the call holds.
  ///   - began: called before the events are handled, if `body` did not throw.
  ///   - answer: called once, after the events were handled.
  func use<Success>(
    isFirst: Bool = false, size: Int = 0,
    _ body: @escaping (AccountService, Instant) throws(SegueError) -> (events: [AccountEvent], value: Success),
    began: ((Success) -> Void)? = nil, _ answer: @escaping (Result<Success, SegueError>) -> Void
  ) {
    thread.use(
      on: loop, size: size, { store throws(SegueError) in store.use(isFirst: isFirst, body) }
    ) { [self] (result: Result<AccountReport<Success>, SegueError>) in
      switch result {
      case .failure(let error): answer(.failure(error))
      case .success(let report):
        guard let changed else {
          return answer(.failure(SegueError(.connectionUnavailable, "the agent ends")))
        }
        if case .success(let value) = report.result { began?(value) }
        changed(report.account, report.events)
        answer(report.result)
      }
    }
  }

  /// Does the same for what has no answer; errors become notices.
  func perform(
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

  /// Reads what there is at the start.
  func load(_ answer: @escaping (AccountSnapshot, AccountStore.KeptSettings) -> Void) {
    thread.use(
      on: loop,
      { store throws(SegueError) in
        LoadedAccount(account: store.snapshot(Clock.now), kept: store.settings())
      }
    ) { (result: Result<LoadedAccount, SegueError>) in
      switch result {
      case .success(let loaded): answer(loaded.account, loaded.kept)
      case .failure(let error): answer(AccountSnapshot(), .init(settings: .unreadable, problem: error))
      }
    }
  }

  /// Changes the settings that are stored then: changes follow each other, and none is lost.
  /// - Parameter answer: gets them, in the order of the changes.
  func change(
    _ change: @escaping (inout DeviceSettings) throws(SegueError) -> Void,
    _ answer: @escaping (Result<DeviceSettings, SegueError>) -> Void
  ) {
    thread.use(on: loop, { store throws(SegueError) in try store.change(change) }, answer)
  }

  /// Keeps the port at which this device listens, for the next time.
  func keepPort(_ port: UInt16, _ answer: @escaping (Result<DeviceSettings, SegueError>) -> Void) {
    thread.use(on: loop, { store throws(SegueError) in try store.keepPort(port) }, answer)
  }
}

private struct LoadedAccount {
  let account: AccountSnapshot
  let kept: AccountStore.KeptSettings
}
