// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem
import SegueWire

/// The proof that a device has had an activity retained by one mailbox, in one revision, for all or as a push to one
/// device (R14.5): its public key, whose digest is the identifier of the device, and a signature. Without it a member
/// could pass off its own offer or push as another device's, or as a later state.
enum RetentionProof {
  private static let offerHead = StaticString("segue retained offer 1\0").bytes
  private static let pushHead = StaticString("segue retained push 1\0").bytes
  private static let keySize = 32

  /// The bytes that are signed.
  static func message(_ origin: RetainedOrigin, by mailbox: Identifier, in account: Identifier) -> [UInt8] {
    let number = stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: origin.revision >> $0) }
    let state: [UInt8] = account.bytes + origin.device.bytes + mailbox.bytes + origin.activity.bytes + number
    guard let push = origin.push else { return offerHead + state }
    // An app of no name is another than none: 1 says that there is one.
    let app: [UInt8] = push.app.map { [1] + Array($0.utf8) } ?? [0]
    let target: [UInt8] = push.id.bytes + push.target.bytes
    return pushHead + state + target + app
  }

  /// - Parameter origin: of this device; its proof does not count. Throws SYSTEM.
  static func make(
    _ origin: RetainedOrigin, for mailbox: Identifier, in account: Identifier, _ key: Secret,
    _ security: any LinkSecurity
  ) throws(SegueError) -> [UInt8] {
    let signed = try security.sign(message(origin, by: mailbox, in: account), with: key)
    return signed.key.suffix(keySize) + signed.signature
  }

  static func isGenuine(
    _ retained: RetainedOrigin, by mailbox: Identifier, in account: Identifier, _ security: any LinkSecurity
  ) -> Bool {
    guard retained.proof.count == RetainedOrigin.proofSize else { return false }
    let key = DeviceIdentity.keyHead + retained.proof.prefix(keySize)
    guard (try? DeviceIdentity.id(ofKey: key)) == retained.device else { return false }
    let message = message(retained, by: mailbox, in: account)
    return security.isSignature(Array(retained.proof.dropFirst(keySize)), of: message, by: key)
  }
}
