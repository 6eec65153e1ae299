// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import Testing

/// Random lives of accounts. SEGUE_SEED plays one seed and shows all of it, SEGUE_SEEDS that many.
@Suite struct AccountFleetTests {
  private static var seeds: [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["SEGUE_SEED"].flatMap({ UInt64($0) }) { return [seed] }
    let count = max(1, environment["SEGUE_SEEDS"].flatMap { UInt64($0) } ?? 6)
    return Array(0..<count)
  }

  /// The cases that the seeds must have met: otherwise they would prove little.
  private static let wanted: Set<String> = [
    "joined", "not joined", "revoked", "readmitted", "a new term", "a manager that is none any more",
    "restored from a backup", "digits that differ", "beacons replayed", "a connection relayed", "a leaked invite used",
    "out: its certificate is not valid", "out: somebody has removed it", "a link through a relay",
    "asleep for 367 days", "a text is heard", "an avoided path",
  ]

  @Test func `no seed links a revoked device, leaves devices at odds, or shuts one out for ever (R10.4 to R10.8)`() {
    var met: Set<String> = []
    for seed in Self.seeds {
      let fleet = AccountWorkload.run(seed: seed, machines: 3 + Int(seed % 3), events: 60)
      met.formUnion(fleet.met)
      guard let violation = fleet.violation else { continue }
      let lines = fleet.log.lines.split(separator: "\n")
      let shown = Self.seeds.count == 1 ? lines[...] : lines.suffix(60)
      Issue.record("\(violation)\n\(shown.joined(separator: "\n"))")
      return
    }
    if Self.seeds.count >= 100 { #expect(Self.wanted.subtracting(met) == []) }
  }
}
