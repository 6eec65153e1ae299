// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueSystem

/// The place of an account's key, seen from one of its devices. It is in memory only while something is signed.
enum RootKey: Sendable {
  /// Another device is the manager.
  case elsewhere
  /// In the file of the account, from which each use reads it.
  case stored
  /// It was made, or has come from the recovery file, and is yet to be stored.
  case new(Secret)

  var isHere: Bool { if case .elsewhere = self { false } else { true } }

  /// The same once the record is stored.
  var afterStoring: RootKey { isHere ? .stored : .elsewhere }
}
