// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import Testing

@testable import SegueFleet

/// Agents, apps that are launched, and inboxes, with deaths at any step (R3.8).
@Suite struct InboxWorkloadTests {
  /// Every second seed of the other workloads: these have more to do. SEGUE_SEED=N plays that one alone.
  private static var seeds: Range<UInt64> {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["SEGUE_SEED"].flatMap({ UInt64($0) }) { return seed..<seed + 1 }
    return 0..<max(1, (environment["SEGUE_SEEDS"].flatMap { UInt64($0) } ?? 40) / 2)
  }

  private static let wanted: Set<String> = [
    "stored", "not stored", "launched", "launched, and never ready", "redelivered", "crashed on", "refused by the disk",
    "restored", "restored when it was redelivered", "declined", "unknown", "dropped",
    "an attachment fetched", "an attachment left with its origin",
    "kept", "kept over a restart", "withdrawn", "offered for an app that has gone",
    "an attachment of a kept offer", "an attachment that was not kept",
  ]
  /// The same for many seeds.
  private static let rare: Set<String> = ["an attachment of a kept offer, over a link"]

  @Test func `no seed loses what was stored, or delivers it twice without the mark (R3.6, R3.8)`() throws {
    var met: Set<String> = []
    for seed in Self.seeds {
      let fleet = Fleet(seed: seed)
      met.formUnion(try InboxWorkload.run(in: fleet, devices: 3, apps: 8, events: 150))
      guard let violation = fleet.violation else { continue }
      let lines = fleet.log.lines.split(separator: "\n")
      let before = lines[...(lines.firstIndex { $0.contains("BROKEN") } ?? 0)].suffix(60)
      Issue.record("\(violation)\n\(before.joined(separator: "\n"))")
      return
    }
    // Otherwise they would prove little.
    if Self.seeds.count >= 20 { #expect(Self.wanted.subtracting(met) == []) }
    if Self.seeds.count >= 120 { #expect(Self.rare.subtracting(met) == []) }
  }

  @Test(arguments: InboxWorkload.Victim.allCases)
  func `whoever is gone between any two steps of a cold start, nothing is lost (R3.8)`(
    victim: InboxWorkload.Victim
  ) throws {
    var phases: Set<InboxOracle.Phase> = []
    for steps in 0..<Self.steps {
      let fleet = Fleet(seed: 7)
      phases.insert(try InboxWorkload.coldStart(in: fleet, killing: victim, after: steps))
      if let violation = fleet.violation { Issue.record("\(steps) steps: \(violation)\n\(fleet.log.lines)") }
    }
    #expect(phases.count == InboxOracle.Phase.allCases.count)
  }

  /// From the question to the receipt, and some more.
  private static let steps = 90
}
