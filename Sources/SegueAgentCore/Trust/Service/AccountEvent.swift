// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A task for the owner of an `AccountService`, in this order. The change that it reports is on the disk already.
public enum AccountEvent: Sendable {
  /// This device was revoked, or is in another account or none: all links end.
  case membershipChanged
  /// A device was revoked: its links end, its offers are forgotten.
  case cut(Identifier)
  /// Certificate, revocations or epochs have changed: new connections, knocks and beacons use the new ones, and open
  /// connections whose peer is no longer `accepted` end.
  case credentialsChanged
  /// The list of devices has changed.
  case devicesChanged
  /// A message for one linked device; for all of them, but one.
  case send(to: Identifier, [UInt8])
  case sendToAll(except: Identifier?, [UInt8])
  /// Something that the user should know, and what has caused it.
  case notice(SegueError, of: NoticeSource = .here)
  /// Connections that join, by their number: bytes to send; what to ask the user; what to show; the end, after which
  /// the connection is closed.
  case joinSend(UInt64, [UInt8])
  case joinAsks(UInt64, JoinQuestion)
  case joinShows(UInt64, JoinQuestion)
  case joinEnded(UInt64, SegueError?)
}

/// Whether this device is in an account.
public enum AccountStatus: Sendable {
  case none
  case member
  /// There is a file of an account that cannot be used, or this device was revoked: why, and what to do.
  case unusable(SegueError)
}

/// A device of the account, for people.
public struct DeviceDescription: Sendable {
  public let id: Identifier
  public let name: String
  public let platform: String
  /// To be shown if another device has nearly the same name; nil otherwise.
  public let fingerprint: String?
  public let isThisDevice: Bool
  public let isManager: Bool
  /// False: it was admitted, and has not been seen since.
  public let isConfirmed: Bool
  /// True: it is linked, or was, and runs an older Segue, which takes no list of devices of this version.
  public let isOutdated: Bool
  /// Seconds since 1970: when it joined, and when its certificate ends.
  public let joined: Int64
  public let certificateEnds: Int64
}
