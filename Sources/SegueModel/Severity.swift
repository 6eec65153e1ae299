// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The severity of a log line. Raw values are those of `segue_log_level`.
public enum Severity: Int32, Sendable {
  case error = 1
  case info
  case debug
}
