// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSQLite
import SegueModel

/// A row of a result. Each read checks the type and the bounds: the file may be damaged, or written by others.
struct Row {
  let statement: OpaquePointer
  let database: Database

  func integer(_ column: Int32) throws(SegueError) -> Int64 {
    guard sqlite3_column_type(statement, column) == SQLITE_INTEGER else { throw wrong(column, "integer") }
    return sqlite3_column_int64(statement, column)
  }

  /// An integer that counts something: one that can be counted on.
  func count(_ column: Int32) throws(SegueError) -> Int {
    guard let count = Int32(exactly: try integer(column)), count >= 0 else { throw wrong(column, "count") }
    return Int(count)
  }

  func truth(_ column: Int32) throws(SegueError) -> Bool { try integer(column) != 0 }

  /// A finite number.
  func real(_ column: Int32) throws(SegueError) -> Double {
    guard sqlite3_column_type(statement, column) == SQLITE_FLOAT else { throw wrong(column, "number") }
    let number = sqlite3_column_double(statement, column)
    guard number.isFinite else { throw wrong(column, "finite number") }
    return number
  }

  func optionalReal(_ column: Int32) throws(SegueError) -> Double? { isNull(column) ? nil : try real(column) }

  /// - Parameter limit: the most bytes.
  func text(_ column: Int32, atMost limit: Int) throws(SegueError) -> String {
    guard sqlite3_column_type(statement, column) == SQLITE_TEXT, let start = sqlite3_column_text(statement, column)
    else { throw wrong(column, "text") }
    let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    guard bytes.count <= limit, UTF8Text.isValid(bytes) else { throw wrong(column, "text of at most \(limit) bytes") }
    return String(decoding: bytes, as: UTF8.self)
  }

  func optionalText(_ column: Int32, atMost limit: Int) throws(SegueError) -> String? {
    isNull(column) ? nil : try text(column, atMost: limit)
  }

  /// The bytes stay valid during `body`.
  func withBlob<Result>(
    _ column: Int32, atMost limit: Int, _ body: (UnsafeRawBufferPointer) throws(SegueError) -> Result
  ) throws(SegueError) -> Result {
    guard sqlite3_column_type(statement, column) == SQLITE_BLOB else { throw wrong(column, "blob") }
    let start = sqlite3_column_blob(statement, column)
    let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    guard bytes.count <= limit else { throw wrong(column, "blob of at most \(limit) bytes") }
    return try body(bytes)
  }

  func blob(_ column: Int32, atMost limit: Int) throws(SegueError) -> [UInt8] {
    try withBlob(column, atMost: limit) { bytes throws(SegueError) in Array(bytes) }
  }

  func identifier(_ column: Int32) throws(SegueError) -> Identifier {
    guard let identifier = Identifier(bytes: try blob(column, atMost: Identifier.size)) else {
      throw wrong(column, "identifier")
    }
    return identifier
  }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

  /// The error for a cell that is not what it has to be.
  func wrong(_ column: Int32, _ wanted: DiagnosticText) -> SegueError {
    let name = sqlite3_column_name(statement, column).map { String(cString: $0) } ?? "?"
    return database.unreadable("\(name) of a row is no \(wanted)")
  }
}
