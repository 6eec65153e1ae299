// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The proofs of other devices that were checked (`RetentionProof`): to check a signature again costs more than to
/// remember it.
struct ProvenOrigins {
  /// The most that are remembered.
  private static let limit = 256

  /// The latest last.
  private var entries: [(origin: RetainedOrigin, mailbox: Identifier)] = []

  /// Whether the proof of an origin for a mailbox was found genuine.
  func contains(_ origin: RetainedOrigin, for mailbox: Identifier) -> Bool {
    entries.contains { $0.mailbox == mailbox && $0.origin.isSame(as: origin) }
  }

  /// Remembers a proof that is genuine.
  mutating func add(_ origin: RetainedOrigin, for mailbox: Identifier) {
    entries.append((origin, mailbox))
    entries.removeFirst(max(0, entries.count - Self.limit))
  }

  /// Forgets the proofs of other devices than these, which may have been made with another key, and those for other
  /// mailboxes than these and this device.
  mutating func keep(_ devices: [Identifier], own: Identifier?) {
    entries.removeAll { !devices.contains($0.origin.device) || $0.mailbox != own && !devices.contains($0.mailbox) }
  }
}

extension RetainedOrigin {
  fileprivate func isSame(as other: RetainedOrigin) -> Bool {
    device == other.device && activity == other.activity && revision == other.revision && proof == other.proof
      && push == other.push
  }
}
