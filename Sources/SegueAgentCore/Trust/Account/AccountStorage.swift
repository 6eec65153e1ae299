// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The storage of the file of an account.
public protocol AccountStorage: AnyObject {
  /// The file; nil if there is none. Throws UNSAFE_FOLDER if another user could read it, INVALID_STATE if it belongs
  /// to another machine, SYSTEM.
  func load() throws(SegueError) -> Secret?
  /// Replaces the file, whole or not at all, and returns when it is on the disk. Throws SYSTEM.
  func store(_ file: Secret) throws(SegueError)
  /// Removes the file durably. Throws SYSTEM.
  func erase() throws(SegueError)
  /// Renames what cannot be used, so that nothing is lost: a file that cannot be read, and all that came from another
  /// machine. A file can be stored then.
  /// - Returns: the new names; none if all can be used.
  func setAside() throws(SegueError) -> [String]
}

extension AccountStorage {
  /// Reads the key of the account. Throws SYSTEM if it is there no longer.
  /// - Parameter publicKey: of the account's certificate.
  func rootKey(of publicKey: [UInt8], _ cryptography: any Cryptography) throws(SegueError) -> Secret {
    guard let file = try load(), let key = try AccountRecord.rootKey(in: file, cryptography),
      try cryptography.publicKey(of: key).elementsEqual(publicKey)
    else {
      throw SegueError(.system, "account: its key is no longer in its file; restore the file from a backup")
    }
    return key
  }
}
