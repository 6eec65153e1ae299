// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A value on its way into a database.
enum Cell {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])

  init(_ text: String?) { self = text.map { .text($0) } ?? .null }
  init(_ date: Double?) { self = date.map { .real($0) } ?? .null }
  init(_ identifier: Identifier) { self = .blob(identifier.bytes) }
  init(_ truth: Bool) { self = .integer(truth ? 1 : 0) }
}
