// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A roster of a manager that this device does not know as one of the account: the user says whether it counts.
struct TakeOver: Sendable {
  let roster: SignedRoster
  /// When this device got it: seconds since 1970.
  let date: Int64
}

/// A takeover that waits for the user, for people.
public struct TakeOverDescription: Sendable {
  /// The user accepts this: 32 bytes.
  public let digest: [UInt8]
  /// The device that has taken over, with the recovery file.
  public let device: Identifier
  public let name: String
  public let term: UInt64
  /// Seconds since 1970.
  public let date: Int64
}

/// A device with a certificate of the account that the list of devices does not have, for people.
public struct RefusedDevice: Sendable {
  public let device: Identifier
  /// By a list that does not count here; nil if none names it.
  public let name: String?
  /// When it was refused last: seconds since 1970.
  public let date: Int64
  /// The serial number of the certificate that it has shown.
  let serial: [UInt8]
}
