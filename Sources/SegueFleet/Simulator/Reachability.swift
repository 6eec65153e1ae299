// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The reach of the devices of a fleet, each given by its index: partitions, and meetings after them.
struct Reachability {
  /// A device that is cut off from another one; nil: from all others.
  private struct Cut {
    let one: Int
    let two: Int?

    func divides(_ first: Int, _ second: Int) -> Bool {
      guard let two else { return first == one || second == one }
      return first == one && second == two || first == two && second == one
    }
  }

  private var cuts: [Cut] = []
  /// The uptime until which devices of an account may find each other that are not linked.
  private var meetsUntil: Int64 = 0
  /// Milliseconds in which devices of an account that reach each other are linked.
  private static let meetingTime: Int64 = 120_000

  /// Whether nothing comes from one device to the other.
  func isCut(_ one: Int, _ other: Int) -> Bool { cuts.contains { $0.divides(one, other) } }

  /// Cuts a device off from another one; nil: from all others.
  mutating func cut(_ one: Int, from two: Int?) { cuts.append(Cut(one: one, two: two)) }

  /// Ends all cuts.
  mutating func heal() { cuts = [] }

  /// Devices of an account may find each other from now on.
  mutating func expectLinks(_ uptime: Int64) { meetsUntil = uptime + Self.meetingTime }

  /// Whether devices of an account may find each other.
  func awaitsLinks(_ uptime: Int64) -> Bool { uptime < meetsUntil }
}
