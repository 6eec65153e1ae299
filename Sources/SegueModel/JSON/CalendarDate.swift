// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A date of the Gregorian calendar in UTC, for people: as in RFC 3339, to the millisecond.
struct CalendarDate {
  let year: Int
  let month: Int
  let day: Int
  /// Milliseconds of the day.
  let time: Int

  private static let dayLength = 86_400_000

  /// Nil outside of the years 1 to 9999, whose numbers have four digits.
  ///
  /// - Parameter seconds: since 1970-01-01T00:00:00Z.
  init?(_ seconds: Double) {
    // Within 10,000 years all milliseconds are exact.
    guard seconds.magnitude < 86_400 * 366 * 10_000 else { return nil }
    let milliseconds = Int((seconds * 1000).rounded(.down))
    let days = Self.quotient(milliseconds, Self.dayLength)
    time = milliseconds - days * Self.dayLength
    // Years begin in March, so that leap days come last; eras of 400 years have 146,097 days.
    let shifted = days + 719_468
    let era = Self.quotient(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    guard year >= 1, year <= 9999 else { return nil }
  }

  /// Rounds down.
  private static func quotient(_ number: Int, _ divisor: Int) -> Int {
    number >= 0 ? number / divisor : (number - divisor + 1) / divisor
  }
}

extension JSONText {
  /// Puts a string such as "2023-11-14T22:13:20.250Z".
  func put(_ date: CalendarDate) {
    put("\"")
    put(date.year, digits: 4)
    put("-")
    put(date.month, digits: 2)
    put("-")
    put(date.day, digits: 2)
    put("T")
    put(date.time / 3_600_000, digits: 2)
    put(":")
    put(date.time / 60_000 % 60, digits: 2)
    put(":")
    put(date.time / 1000 % 60, digits: 2)
    put(".")
    put(date.time % 1000, digits: 3)
    put("Z\"")
  }
}
