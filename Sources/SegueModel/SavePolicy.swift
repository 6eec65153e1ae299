// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// When an activity whose app answers will_save is saved (R2.9). Raw values are those of `segue_save_policy`.
public enum SavePolicy: Int32, Sendable {
  /// At each pull, and when the app goes to the background or closes, unless the app has declared that nothing needs
  /// saving.
  case whenPulled = 0
  /// Only if it needs saving.
  case whenNeeded = 1
}
