// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem
import SegueWire

/// The proof that a device has had an activity retained by one mailbox, in one revision (R14.5): its public key, whose
/// digest is the identifier of the device, and a signature. Without it a member could pass off its own offer as another
/// device's, or as a later state.
enum RetentionProof {
  private static let head = StaticString("segue retained offer 1\0").bytes
  private static let keySize = 32

  /// The bytes that are signed.
  static func message(
    _ account: Identifier, _ device: Identifier, _ mailbox: Identifier, _ activity: Identifier, _ revision: UInt64
  ) -> [UInt8] {
    let number = stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: revision >> $0) }
    return head + account.bytes + device.bytes + mailbox.bytes + activity.bytes + number
  }

  /// Throws SYSTEM.
  static func make(
    _ identity: DeviceIdentity, for mailbox: Identifier, _ activity: Identifier, _ revision: UInt64, _ key: Secret,
    _ security: any LinkSecurity
  ) throws(SegueError) -> [UInt8] {
    let signed = try security.sign(message(identity.account, identity.device, mailbox, activity, revision), with: key)
    return signed.key.suffix(keySize) + signed.signature
  }

  static func isGenuine(
    _ retained: RetainedOrigin, by mailbox: Identifier, in account: Identifier, _ security: any LinkSecurity
  ) -> Bool {
    guard retained.proof.count == RetainedOrigin.proofSize else { return false }
    let key = DeviceIdentity.keyHead + retained.proof.prefix(keySize)
    guard (try? DeviceIdentity.id(ofKey: key)) == retained.device else { return false }
    let message = message(account, retained.device, mailbox, retained.activity, retained.revision)
    return security.isSignature(Array(retained.proof.dropFirst(keySize)), of: message, by: key)
  }
}
