// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine

/// Whether the system has slept, by its clocks.
struct SleepCheck {
  /// Milliseconds between two looks.
  static let pause: Int64 = 10_000

  /// Milliseconds that it had slept at the last look that has found a difference.
  private var slept: Int64

  init(_ environment: any AgentEnvironment) { slept = environment.slept }

  /// Whether it has slept for more than a second since.
  mutating func hasSlept(_ environment: any AgentEnvironment) -> Bool {
    let slept = environment.slept
    guard slept > self.slept + 1_000 else { return false }
    self.slept = slept
    return true
  }
}
