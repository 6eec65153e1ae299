// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The room for what is retained for other devices (R14.5): each device has a share.
struct RetainedRoom {
  /// An activity that is retained, or is about to be, and its bytes.
  private struct Share {
    let activity: Identifier
    let origin: RetainedOrigin
    var bytes: UInt64
  }

  private var shares: [Share] = []

  init(_ copies: [KeptOffer], _ pulls: [RetainedPull]) {
    for copy in copies {
      guard let origin = copy.record.retained else { continue }
      shares.append(Share(activity: copy.record.activity, origin: origin, bytes: copy.record.storedBytes))
    }
    for pull in pulls {
      if let index = shares.firstIndex(where: { $0.activity == pull.activity }) {
        shares[index].bytes = max(shares[index].bytes, pull.bytes)
      } else {
        shares.append(Share(activity: pull.activity, origin: pull.origin, bytes: pull.bytes))
      }
    }
  }

  /// Whether there is room for an activity of so many bytes, in place of an older state of it.
  func has(_ bytes: UInt64, for wanted: RetainedOrigin) -> Bool {
    let others = shares.filter { $0.activity != wanted.identifier }
    let own = others.filter { $0.origin.device == wanted.device }
    func fits(_ shares: [Share], _ limit: Int) -> Bool {
      let used = shares.reduce(0) { $0 + $1.bytes }
      return used <= UInt64(limit) && bytes <= UInt64(limit) - used
    }
    let isPush = wanted.push != nil
    let count = own.count { ($0.origin.push != nil) == isPush }
    return count < (isPush ? Limits.retainedPushes : Limits.retainedOffers)
      && others.count < Limits.allRetainedOffers
      && fits(own, Limits.retainedBytes) && fits(others, Limits.allRetainedBytes)
  }

  static func tooMany(isPush: Bool = false) -> SegueError {
    let count = isPush ? Limits.retainedPushes : Limits.retainedOffers
    let noun: StaticString = isPush ? "pushes" : "offers"
    return SegueError(.limitExceeded, "keeps no more: it has \(count) \(noun) of this device")
  }

  static var isFull: SegueError {
    SegueError(
      .limitExceeded,
      "keeps no more: it has \(Limits.retainedBytes) bytes of this device, or \(Limits.allRetainedBytes) of all")
  }

  static var isTooLarge: SegueError {
    SegueError(.limitExceeded, "keeps at most \(Limits.storedAttachments) bytes of attachments of an activity")
  }

  static var isIncomplete: SegueError {
    SegueError(.limitExceeded, "keeps an activity without attachments that it could not fetch")
  }
}
