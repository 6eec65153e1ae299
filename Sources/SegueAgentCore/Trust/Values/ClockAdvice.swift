// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The advice when dates do not fit together: most often a clock is wrong, and nothing else.
public enum ClockAdvice {
  /// The advice for a genuine beacon of another slot. The beacon may be a recording, so its date proves nothing.
  /// - Parameter there: seconds since 1970.
  public static func ofBeacon(there: Double, at now: Instant) -> SegueError {
    SegueError(
      .notAllowed,
      """
      a device of this account, or a recording of it, says that it is \(text(Int64(there))); here it is \
      \(text(now.seconds)) (UTC); devices whose clocks differ do not find each other: set the clock that is wrong
      """)
  }

  /// Two dates if they differ by more than clocks may; nil otherwise.
  static func compared(here: Int64, there: Int64) -> (here: Int64, there: Int64)? {
    (here - there).magnitude > UInt64(Limits.clockTolerance) ? (here, there) : nil
  }

  /// Nil if two clocks agree well enough.
  static func difference(here: Int64, there: Int64, _ name: String) -> SegueError? {
    guard compared(here: here, there: there) != nil else { return nil }
    return SegueError(
      .notAllowed,
      """
      the clocks differ by \(span(here - there)): here it is \(text(here)), on \(name) it is \(text(there)) (UTC); set \
      the clock that is wrong: certificates are not renewed meanwhile
      """)
  }

  /// The problem of the certificate of this device, and what to do.
  static func problem(
    _ problem: CertificateProblem, of certificate: CertificateFields, at date: Int64, isManager: Bool
  ) -> SegueError {
    switch problem {
    case .notYetValid:
      return SegueError(
        .notAllowed,
        """
        the certificate of this device begins at \(text(certificate.from)), and here it is \(text(date)) (UTC): the \
        clock is wrong; set it
        """)
    case .expired:
      let remedy: StaticString =
        isManager ? "it is renewed by itself" : "leave the account, and join again with an invite"
      return SegueError(
        .notAllowed,
        """
        the certificate of this device ended at \(text(certificate.until)), and here it is \(text(date)) (UTC); if the \
        clock is wrong, set it; else \(remedy)
        """)
    case .revoked:
      return SegueError(
        .notAllowed,
        "this device was removed from the account; leave the account, and join again with an invite if you want to")
    case .notTrusted:
      return SegueError(
        .notAllowed, "the certificate of this device is not of its account; leave the account, and join again")
    }
  }

  private static func span(_ seconds: Int64) -> DiagnosticText {
    let hours = seconds.magnitude / 3600
    return hours < 48 ? "\(hours) hours" : "\(hours / 24) days"
  }

  /// The date and time in UTC: "2026-11-23 04:15".
  static func text(_ seconds: Int64) -> String {
    let seconds = min(max(0, seconds), Instant.lastSecond)
    let (days, minutes) = (seconds / 86_400, seconds % 86_400 / 60)
    // Years begin in March, so that leap days come last; eras of 400 years have 146,097 days.
    let shifted = days + 719_468
    let (era, day) = (shifted / 146_097, shifted % 146_097)
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
    let dayOfYear = day - (365 * year + year / 4 - year / 100)
    let month = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
    let civilMonth = month < 10 ? month + 3 : month - 9
    let civilYear = year + era * 400 + (civilMonth <= 2 ? 1 : 0)
    return String(
      joining:
        "\(civilYear)-\(two(civilMonth))-\(two(dayOfMonth)) \(two(minutes / 60)):\(two(minutes % 60))")
  }

  private static func two(_ number: Int64) -> DiagnosticText { number < 10 ? "0\(number)" : "\(number)" }
}
