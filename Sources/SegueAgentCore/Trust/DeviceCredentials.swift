// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueSystem

/// The credentials that a device shows to the others of its account, and with which it checks theirs. Bytes are DER.
public struct DeviceCredentials: Sendable {
  /// The device's private key: PKCS#8.
  public let key: Secret
  /// The device's certificate: X.509, signed by the root.
  public let certificate: [UInt8]
  /// The account's root: X.509.
  public let root: [UInt8]
  /// The account's revoked certificates: a CRL, signed by the root.
  public let revocations: [UInt8]
  /// The devices of the account.
  public let members: AccountMembers

  public init(
    key: Secret, certificate: [UInt8], root: [UInt8], revocations: [UInt8], members: AccountMembers
  ) {
    self.key = key
    self.certificate = certificate
    self.root = root
    self.revocations = revocations
    self.members = members
  }
}

/// The keys that derive from the secret of one epoch of an account; each has 32 bytes.
public struct EpochKeys: Sendable {
  /// Rises with every revocation.
  public let epoch: UInt64
  /// Under which devices knock.
  public let knock: [UInt8]
  /// Under which devices announce themselves.
  public let beacon: [UInt8]

  public init(epoch: UInt64, knock: [UInt8], beacon: [UInt8]) {
    self.epoch = epoch
    self.knock = knock
    self.beacon = beacon
  }
}
