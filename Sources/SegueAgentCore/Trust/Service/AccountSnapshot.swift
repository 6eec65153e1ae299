// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The account at one moment, for those who do not share its thread.
public struct AccountSnapshot: Sendable {
  /// Milliseconds until a certificate that was not valid is looked at again: the clock may be set meanwhile.
  private static let adviceTime: Int64 = 30_000
  /// Milliseconds between two calls of `AccountService.tick`.
  private static let leastPause: Int64 = 1_000

  public var status = AccountStatus.none
  public private(set) var name: String?
  /// This device.
  public private(set) var identity: DeviceIdentity?
  public private(set) var isManager = false
  public private(set) var devices: [DeviceDescription] = []
  /// The takeovers that wait for the user, and the devices that were refused lately.
  public private(set) var takeOvers: [TakeOverDescription] = []
  public private(set) var refused: [RefusedDevice] = []
  /// The credentials that links show; nil if there can be none now, and `advice` says why.
  public private(set) var credentials: DeviceCredentials?
  public private(set) var epochs: [EpochKeys] = []
  public private(set) var advice: SegueError?
  public private(set) var invites: [Invite] = []
  /// Nil without an account.
  private var numbers: RosterNumbers?
  /// The uptime by which it has something to do.
  private var deadline: Int64?

  /// The snapshot of a device without an account.
  public init() {}

  init(of service: AccountService, at now: Instant) {
    status = service.status
    name = service.accountName
    identity = service.identity
    isManager = service.isManager
    devices = (try? service.devices()) ?? []
    takeOvers = service.takeOvers
    refused = service.refused
    invites = service.openInvites(at: now)
    deadline = service.deadline(at: now)
    numbers = (try? service.membership()).map { RosterNumbers($0.record.roster) }
    guard case .member = status else { return }
    do throws(SegueError) {
      credentials = try service.credentials(at: now)
      epochs = try service.epochKeys(at: now)
    } catch {
      advice = error
    }
  }

  /// The first message of a new link; nil without an account.
  public func greeting(at now: Instant) -> [UInt8]? { try? numbers?.greeting(at: now) }

  /// The uptime at which `AccountService.tick` is called next; nil for never.
  /// - Parameter ticked: the uptime of the last call: not again and again for something that cannot be done.
  public func nextTick(after ticked: Int64) -> Int64? {
    guard let deadline else { return nil }
    let next = advice == nil ? deadline : min(deadline, ticked + Self.adviceTime)
    return max(next, ticked + Self.leastPause)
  }
}

extension AccountService {
  /// The present state of the account.
  public func snapshot(at now: Instant) -> AccountSnapshot { AccountSnapshot(of: self, at: now) }
}
