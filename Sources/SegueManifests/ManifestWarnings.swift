// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Faults of a manifest that take nothing away from what it declares, for people: few texts, and short ones, since they
/// quote the file.
struct ManifestWarnings {
  /// Texts of one manifest, and bytes of each.
  private static let limit = 8
  private static let sizeLimit = 256

  private(set) var texts: [String] = []

  mutating func add(_ text: DiagnosticText) {
    guard texts.count < Self.limit else { return }
    guard texts.count < Self.limit - 1 else { return texts.append("there is more that has no effect") }
    texts.append(Text.start(of: text.string, atMost: Self.sizeLimit))
  }

  mutating func add(_ others: ManifestWarnings) { for text in others.texts { add(DiagnosticText(of: text)) } }
}
