// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A step of a save, such as will_save, that waits for its answer.
public final class PendingSave: HandleObject {
  private let sequence: SaveSequence
  private let step: Int

  init(_ sequence: SaveSequence, step: Int) {
    self.sequence = sequence
    self.step = step
  }

  /// The activity is up to date. Throws INVALID_STATE the second time.
  public func complete() throws(SegueError) { try answer(.upToDate) }

  /// The activity could not be brought up to date, for that reason (R2.4). Throws INVALID_STATE the second time.
  public func fail(_ reason: String?) throws(SegueError) { try answer(.failed(reason)) }

  private func answer(_ answer: SaveAnswer) throws(SegueError) {
    guard sequence.answer(step, answer) else {
      throw SegueError(.invalidState, "save: was answered already")
    }
  }

  /// The last handle that could answer was released.
  public override func lastHandleReleased() { _ = sequence.answer(step, .upToDate) }
}
