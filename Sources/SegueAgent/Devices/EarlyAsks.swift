import SegueModel

/// What was asked before it is known what is stored: an agent that has just started would say that there is no account,
/// or that it listens nowhere. For the loop.
struct EarlyAsks {
  /// The most that wait.
  private static let limit = 64

  private var all: [(asker: Asker, ask: () -> Void)] = []

  /// Throws BUSY.
  mutating func append(
    for asker: Asker, _ answer: @escaping ControlAsks.Answer, _ body: @escaping () throws(SegueError) -> Void
  ) throws(SegueError) {
    guard all.count < Self.limit else {
      throw SegueError(.busy, "account: \(all.count) wait for the disk already")
    }
    let ask = {
      do throws(SegueError) {
        try body()
      } catch {
        answer(.failure(error))
      }
    }
    all.append((asker: asker, ask: ask))
  }

  mutating func abandon(_ asker: Asker) { all.removeAll { $0.asker.number == asker.number } }

  func ask() { for each in all { each.ask() } }
}
