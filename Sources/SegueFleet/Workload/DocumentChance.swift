import SegueModel

/// The documents of apps in a workload (R5): in a quarter of all workloads, apps open, move and close files, whose
/// activities are those of their documents.
struct DocumentChance {
  private var random: SeededRandom
  private let isOn: Bool

  init(seed: UInt64) {
    random = SeededRandom(seed: seed ^ 0xd0c5_d0c5_d0c5_d0c5)
    isOn = random.chance(0.25)
  }

  /// Once per event of the workload.
  /// - Parameter number: draws a new number to write.
  mutating func act(on apps: [ScriptedApp], _ number: () -> Int) throws(SegueError) {
    guard isOn, random.chance(0.3), !apps.isEmpty else { return }
    let app = apps[random.below(apps.count)]
    guard app.isAwake else { return }
    let count = app.documents.count
    switch random.below(6) {
    case 0..<2: try app.openDocument(number())
    case 2: if count > 0 { app.closeDocument(random.below(count)) }
    case 3: if count > 0 { try app.moveDocument(random.below(count), isInside: random.chance(0.6), number()) }
    default: app.makeDocumentCurrent(random.below(max(1, count)))
    }
  }
}
