// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The limits of accounts and devices (docs/trust.md).
extension Limits {
  /// Bytes of the file with the settings of devices.
  public static let deviceSettings = 64 * 1024
  /// Devices of an account.
  public static let devices = 64
  /// Certificates of one device that are remembered.
  public static let certificatesPerDevice = 4
  /// Devices that were revoked which are remembered, and their certificates, all of which the list of revocations has.
  public static let removedDevices = 256
  public static let revocations = 384
  /// Epochs that are kept, and so answered.
  public static let epochs = 16
  /// Seconds for which a former epoch is answered after the next one was stored.
  public static let epochLife: Int64 = 366 * 86_400
  /// Seconds for which a certificate of a device is valid.
  public static let certificateLife: Int64 = 365 * 86_400
  /// Seconds by which two clocks may differ; certificates begin that much in the past.
  public static let clockTolerance: Int64 = 86_400
  /// Seconds between two certificates for one device.
  public static let renewalInterval: Int64 = 86_400
  /// The most milliseconds of uptime until certificates are compared with the date again.
  public static let dateCheck: Int64 = 300_000
  /// Milliseconds for which an invite can be used.
  public static let inviteLife: Int64 = 600_000
  /// Invites that can be used at a time.
  public static let invites = 8
  /// Addresses in an invite, and connections with its key that have not said anything: a device may dial all of them.
  public static let inviteAddresses = 8
  public static let connectionsPerInvite = 8
  /// Addresses that a device tells over a link, and that the user gives one device; bytes of all that the user gives.
  public static let toldAddresses = 8
  public static let addressesPerDevice = 8
  public static let deviceAddressBytes = 4 * 1024
  /// Offers of a device that it wants to have retained: it tells of no more (R14.5).
  public static let wantedOffers = 64
  /// Paths of all devices that the state of the account tells.
  static let reportedPaths = 64
  /// Bytes of the text of an invite.
  public static let inviteText = 2_048
  /// Tries to join that one address may make at once, and then one each second; addresses that are remembered; tries
  /// of all addresses together.
  public static let joinTries = 5
  public static let joinSources = 64
  public static let joinTriesOfAll = 50
  /// Notices and rosters that one linked device causes at once, and then one each second.
  public static let answers = 16
  /// Milliseconds for the other device's next message while it joins, and for the user to compare the digits.
  public static let joinStep: Int64 = 30_000
  public static let joinApproval: Int64 = 300_000
  /// Bytes of a message, and of all messages that the other device sends, while it joins.
  public static let joinBytes = 64 * 1024
  /// Bytes of a roster, revocations included: enough for all devices, removals, serials and epochs that may be in it.
  public static let rosterBytes = 60 * 1024
  /// Characters of the name of an account, and of a device.
  public static let deviceName = 64
  /// Bytes of the name of a device's system.
  public static let platform = 32
  /// Bytes of a certificate, a key or a request, in DER.
  public static let certificateBytes = 4 * 1024
  /// Bytes of the recovery file, and of its passphrase; characters that the passphrase has at least.
  public static let recoveryFile = 8 * 1024
  public static let passphrase = 1_024
  public static let shortestPassphrase = 12
  /// Bytes of the file of an account.
  public static let accountFile = 384 * 1024
  /// The largest number of a roster and of its revocations.
  static let rosterNumber: UInt64 = 1 << 62
  /// The most by which the numbers of another roster may be above the own ones and above all dates: changes that this
  /// device has missed. Above that no number would be left to count with.
  static let missedChanges: UInt64 = 1 << 20
  /// Seconds by which a clock is set without a word to other devices.
  static let clockStep: Int64 = 60
}
