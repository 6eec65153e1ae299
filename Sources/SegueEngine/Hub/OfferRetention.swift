// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The offers that a device keeps for others of the account, as its hub needs to know them (R14.5). For one thread.
public protocol OfferRetention: AnyObject {
  /// The origin of an activity that this device has retained, by its identifier here; nil: it has not.
  func retained(_ activity: Identifier) -> RetainedOrigin?
  /// Whether a device of the account has had its activity retained by that mailbox, in that revision.
  func isGenuine(_ retained: RetainedOrigin, by mailbox: Identifier) -> Bool
}
