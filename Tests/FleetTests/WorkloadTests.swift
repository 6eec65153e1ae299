// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import Testing

@testable import SegueFleet

@Suite struct WorkloadTests {
  @Test func `no seed breaks a promise; without faults all are kept in full (R1.11, R2.2, R3.2, R3.6, R3.9)`() throws {
    // The makers of mutants ask for more; Tests/fleet plays thousands, in the library that ships.
    let seeds = ProcessInfo.processInfo.environment["SEGUE_SEEDS"].flatMap { UInt64($0) } ?? 24
    for seed in 0..<seeds {
      let fleet = Fleet(seed: seed)
      try CheckedWorkload.play(in: fleet, devices: 5, apps: 10, events: 200)
      guard let violation = fleet.violation else { continue }
      let lines = fleet.log.lines.split(separator: "\n")
      let before = lines[...(lines.firstIndex { $0.contains("BROKEN") } ?? 0)].suffix(40)
      Issue.record("\(violation)\n\(before.joined(separator: "\n"))")
      return
    }
  }

  @Test func `the same seed gives the same trace, another gives another (R11.1)`() throws {
    func trace(_ seed: UInt64) throws -> Trace {
      let fleet = Fleet(seed: seed)
      try Workload.play(in: fleet, devices: 3, apps: 6, events: 60)
      return fleet.log
    }
    let (one, again, other) = (try trace(1), try trace(1), try trace(2))
    #expect(one.lines == again.lines)
    #expect(one.hash == again.hash)
    #expect(one.hash != other.hash)
    #expect(one.lines.contains("will_continue"))
  }
}
