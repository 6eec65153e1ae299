import SegueModel

/// Requests that came before the stored account was read: an agent that has just started would answer that there is no
/// account, or that it listens nowhere. For one thread.
struct EarlyRequests {
  /// The most requests that wait.
  private static let limit = 64

  private var all: [(asker: Asker, answer: () -> Void)] = []

  /// Keeps a request until `answerAll`, whose error goes to `answer`. Throws BUSY: too many wait.
  mutating func append(
    for asker: Asker, _ answer: @escaping Asker.Answer, _ body: @escaping () throws(SegueError) -> Void
  ) throws(SegueError) {
    guard all.count < Self.limit else {
      throw SegueError(.busy, "account: \(all.count) requests wait for the disk already")
    }
    let request = {
      do throws(SegueError) {
        try body()
      } catch {
        answer(.failure(error))
      }
    }
    all.append((asker: asker, answer: request))
  }

  mutating func abandon(_ asker: Asker) { all.removeAll { $0.asker.number == asker.number } }

  func answerAll() { for each in all { each.answer() } }
}
