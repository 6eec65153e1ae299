import SegueSystem
import SegueTransport

/// Whether the system has slept, by its clocks.
struct SleepCheck {
  /// Milliseconds between two looks.
  static let pause: Int64 = 10_000

  /// Milliseconds that it had slept at the last look that has found a difference.
  private var slept = Clock.slept

  /// Whether it has slept for more than a second since.
  mutating func hasSlept() -> Bool {
    let slept = Clock.slept
    guard slept > self.slept + 1_000 else { return false }
    self.slept = slept
    return true
  }
}
