// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The answers that a scripted app gives to callbacks for now.
struct ScriptedAnswers {
  /// Whether it answers saves at once, and not later.
  var saves = true
  /// Whether its saves fail.
  var failsSaves = false
  /// Whether it answers `continue` and requests at once, and not later.
  var continues = true
  /// Whether it declines in `will_continue`.
  var declines = false
  /// Whether it handles continuations.
  var handles = true
  /// Whether the objects of a continuation are restored.
  var restores = true
  /// Whether it invalidates continued activities.
  var moves = false
  /// The text that will_save writes into the activity; nil for none.
  var numberOnSave: Int?
  /// Its answer to will_resume_back; nil: it has no such callback.
  var replaces: Bool? = true
  /// Whether it reads from its streams.
  var readsStreams = true
  /// Whether it reads and writes at all: otherwise a test does.
  var movesStreams = true
}
