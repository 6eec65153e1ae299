// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueSystem
import SegueTransport

/// The account's thread, as the loop asks it for things. For the loop.
final class AccountJobs: DeviceStorage {
  private let thread: AccountThread
  private let loop: Loop

  /// - Parameter thread: has been started.
  init(_ thread: AccountThread, on loop: Loop) { (self.thread, self.loop) = (thread, loop) }

  func run(
    isFirst: Bool, size: Int, _ job: @escaping (AccountService, Instant) -> [AccountEvent],
    _ done: @escaping (AccountReport) -> Void
  ) {
    thread.use(on: loop, size: size) { store throws(SegueError) in
      store.use(isFirst: isFirst, job)
    } _: { (result: Result<AccountReport, SegueError>) in
      switch result {
      case .success(let report): done(report)
      case .failure(let error): done(AccountReport(error: error, account: nil))
      }
    }
  }

  /// Reads what there is at the start.
  func load(_ answer: @escaping (AccountSnapshot, StoredSettings) -> Void) {
    thread.use(on: loop) { store throws(SegueError) in
      LoadedAccount(account: store.snapshot(Clock.now), kept: store.settings())
    } _: { (result: Result<LoadedAccount, SegueError>) in
      switch result {
      case .success(let loaded): answer(loaded.account, loaded.kept)
      case .failure(let error): answer(AccountSnapshot(), StoredSettings(settings: .unreadable, problem: error))
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

  func keep(
    _ change: @escaping (inout DeviceSettings) -> Void,
    _ answer: @escaping (Result<DeviceSettings, SegueError>) -> Void
  ) {
    thread.use(on: loop, { store throws(SegueError) in try store.keep(change) }, answer)
  }
}

private struct LoadedAccount {
  let account: AccountSnapshot
  let kept: StoredSettings
}
