// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel

/// The machine whose disk has an account, as a `SimulatedStorage` uses it.
public protocol AccountMachine: AnyObject {
  var now: Instant { get }
  /// The settings of its agents, on its disk.
  var settings: DeviceSettings { get set }
  /// Draws the milliseconds until what was written is on the disk.
  func drawDiskTime() -> Int64
  /// Draws the milliseconds until the agent hears of it.
  func drawAnswerTime() -> Int64
  /// Does something if the agent lives then.
  func later(_ milliseconds: Int64, _ body: @escaping () -> Void)
  /// The disk was used.
  /// - Returns: whether the agent has survived that.
  func hasUsedDisk() -> Bool
}

/// The disk of a machine, as the thread of an account uses it: what was written is there before the agent hears of it.
public final class SimulatedStorage: DeviceStorage {
  private let machine: any AccountMachine
  private let service: AccountService
  /// The uptimes at which the thread is free, and at which the agent has its last answer.
  private var (freeAt, saidAt): (Int64, Int64) = (0, 0)

  public init(_ service: AccountService, on machine: any AccountMachine) {
    (self.service, self.machine) = (service, machine)
  }

  public func run(
    isFirst: Bool, size: Int, _ job: @escaping (AccountService, Instant) -> [AccountEvent],
    _ done: @escaping (AccountReport) -> Void
  ) {
    use { [self] in
      let now = machine.now
      let events = job(service, now)
      let report = AccountReport(events: events, account: service.snapshot(at: now))
      return { done(report) }
    }
  }

  /// Does something on the thread, and what that returns in the agent.
  private func use(_ body: @escaping () -> () -> Void) {
    let uptime = machine.now.uptime
    freeAt = max(freeAt, uptime) + machine.drawDiskTime()
    machine.later(freeAt - uptime) { [self] in
      let answer = body()
      guard machine.hasUsedDisk() else { return }
      let uptime = machine.now.uptime
      saidAt = max(saidAt, uptime) + machine.drawAnswerTime()
      machine.later(saidAt - uptime, answer)
    }
  }

  public func load(_ answer: @escaping (AccountSnapshot, StoredSettings) -> Void) {
    use { [self] in
      let (account, settings) = (service.snapshot(at: machine.now), StoredSettings(settings: machine.settings))
      return { answer(account, settings) }
    }
  }

  public func change(
    _ change: @escaping (inout DeviceSettings) throws(SegueError) -> Void,
    _ answer: @escaping (Result<DeviceSettings, SegueError>) -> Void
  ) {
    use { [self] in
      var settings = machine.settings
      do throws(SegueError) {
        try change(&settings)
        machine.settings = settings
        return { [settings] in answer(.success(settings)) }
      } catch {
        let error = error
        return { answer(.failure(error)) }
      }
    }
  }

  public func keep(
    _ change: @escaping (inout DeviceSettings) -> Void,
    _ answer: @escaping (Result<DeviceSettings, SegueError>) -> Void
  ) {
    self.change({ settings in change(&settings) }, answer)
  }
}
