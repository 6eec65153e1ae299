// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// An app that is open on this device, and the entry that it has.
struct ConnectedApp {
  let identity: AppIdentity
  /// The principal that the hub charges for it.
  let principal: Identifier
  /// Whether it has a handler for what waits.
  var accepts: Bool
  /// Whether the current hub says that it is open.
  var isConfirmed = true
  var delivery: DeliveryAttempt?
  /// Whether the inbox looks for its next entry, and whether there may be another since.
  var isAsking = false
  var shallAskAgain = false
  /// The entries that it has had: it gets none of them again unless the user asks.
  var tried: [Identifier] = []
}
