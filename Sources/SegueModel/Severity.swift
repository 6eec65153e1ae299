/// How much a line of log matters. Raw values are those of `segue_log_level`.
public enum Severity: Int32, Sendable {
  case error = 1
  case info
  case debug
}
