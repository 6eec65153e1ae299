import SegueModel

/// Users of a workload who change their minds: in a quarter of all workloads, they cancel continuations before
/// `continue`, and before its answer (R3.3).
struct CancelChance {
  private var random: SeededRandom
  private let isOn: Bool

  init(seed: UInt64) {
    random = SeededRandom(seed: seed ^ 0xca2c_e1ca_2ce1_ca2c)
    isOn = random.chance(0.25)
  }

  /// Once per event of the workload.
  mutating func act(on apps: [ScriptedApp]) {
    guard isOn, random.chance(0.2) else { return }
    let busy = apps.filter { $0.isAwake && $0.continuationCount > 0 }
    guard !busy.isEmpty else { return }
    let app = busy[random.below(busy.count)]
    app.cancel(at: random.below(app.continuationCount))
  }
}
