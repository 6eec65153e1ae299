// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueWire

/// An entry that an app has.
struct DeliveryAttempt {
  enum Phase {
    /// The app knows of it.
    case announced
    /// The app has fetched it, and others are read first.
    case queued
    /// The document is being read.
    case loading
    /// The document goes out on this channel; `sent` bytes of it have gone.
    case sending(FramedConnection.Channel, [UInt8], sent: Int)
    /// The answer of the app is on its way to the disk.
    case acknowledging
  }

  let item: InboxItem
  /// The token by which the app may bring its window to the front; nil: there is none.
  let activationToken: String?
  var phase = Phase.announced
  /// Whether the app has asked for the document: if it dies before, that is not because of it.
  var isFetched = false
  /// Whether the app was sent the whole document: only then can it have restored it (R3.6).
  var isSent = false

  /// Whether it has a document in memory.
  var isLarge: Bool {
    switch phase {
    case .loading, .sending: true
    case .announced, .queued, .acknowledging: false
    }
  }

  /// The channel that is open for the document.
  var channel: FramedConnection.Channel? {
    if case .sending(let channel, _, _) = phase { channel } else { nil }
  }
}
