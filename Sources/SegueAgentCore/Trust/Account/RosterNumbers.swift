// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// By what linked devices see whether they have the same roster.
struct RosterNumbers: Sendable {
  let term, number: UInt64
  let digest: [UInt8]

  init(_ signed: SignedRoster) { (term, number, digest) = (signed.roster.term, signed.roster.number, signed.digest) }

  /// The first message of a new link.
  func greeting(at now: Instant) throws(SegueError) -> [UInt8] {
    try TrustMessage.numbers(
      term: term, roster: number, digest: digest, date: now.seconds, version: Roster.version
    ).encoding()
  }
}
