import SegueModel

/// A step of a save, such as will_save, that waits for its answer.
public final class PendingSave: Handled {
  private let sequence: SaveSequence
  private let step: Int

  init(_ sequence: SaveSequence, step: Int) {
    self.sequence = sequence
    self.step = step
  }

  /// The activity is up to date. Throws INVALID_STATE the second time.
  public func complete() throws(SegueError) { try answer(hasFailed: false) }

  /// The activity could not be brought up to date (R2.4). Throws INVALID_STATE the second time.
  public func fail() throws(SegueError) { try answer(hasFailed: true) }

  private func answer(hasFailed: Bool) throws(SegueError) {
    guard sequence.answer(step, hasFailed: hasFailed) else {
      throw SegueError(.invalidState, "save: was answered already")
    }
  }

  /// The last handle that could answer was released.
  public override func lastHandleReleased() { _ = sequence.answer(step, hasFailed: false) }
}
