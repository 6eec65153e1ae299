// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A correspondence between values and JSON text (RFC 8259). Raw values are those of `SEGUE_JSON_…` in segue.h.
public enum JSONMode: Int32, Sendable, CaseIterable {
  /// Values that JSON has, and nothing else: the other kinds are refused, and `$` means nothing.
  case plain = 1
  /// Every value: what JSON lacks is an object with one entry, whose key begins with `$`. Reversible.
  case tagged = 2
  /// The same, but integers beyond ±2⁵³ are written as `{"$int":"…"}`, for readers whose only numbers are doubles.
  case taggedIntegers = 3
  /// Indented text for people. Loses what JSON lacks, and cannot be decoded.
  case forPeople = 4

  var isTagged: Bool { self == .tagged || self == .taggedIntegers }
}
