// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The last push of each activity of other devices to this one (R3.15), so that what a mailbox keeps comes once.
extension Inbox {
  /// Whether that push, or a later one of the activity, was taken or declined.
  public func hasTaken(_ push: PushMark) throws(SegueError) -> Bool {
    let known = try database.first(
      "SELECT number FROM pushed WHERE device = ?1 AND activity = ?2", [Cell(push.device), Cell(push.activity)]
    ) { row throws(SegueError) in UInt64(bitPattern: try row.integer(0)) }
    if let known { return push.number <= known }
    // It is not known whether others were taken: those that are older than all that are remembered count as such.
    let oldest = try database.first(
      "SELECT min(number), count(*) FROM pushed WHERE device = ?1", [Cell(push.device)]
    ) { row throws(SegueError) in
      try row.integer(1) < Limits.pushMarks ? nil : Optional(UInt64(bitPattern: try row.integer(0)))
    }
    return (oldest ?? nil).map { push.number <= $0 } ?? false
  }

  /// Remembers that a push was taken, or declined.
  public func noteTaken(_ push: PushMark) throws(SegueError) {
    try database.transaction { () throws(SegueError) in
      try database.run(
        """
        INSERT INTO pushed (device, activity, number) VALUES (?1, ?2, ?3)
        ON CONFLICT (device, activity) DO UPDATE SET number = max(number, excluded.number)
        """, [Cell(push.device), Cell(push.activity), .integer(Int64(bitPattern: push.number))])
      try database.run(
        """
        DELETE FROM pushed WHERE device = ?1 AND number <
          (SELECT number FROM pushed WHERE device = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
        """, [Cell(push.device), .integer(Limits.pushMarks - 1)])
    }
  }

  /// Remembers a push that is about to be stored, in the same commit. Throws INVALID_STATE if it was taken.
  func take(_ push: PushMark) throws(SegueError) {
    guard try !hasTaken(push) else { throw Self.wasTaken }
    try noteTaken(push)
  }

  /// The error for a push that comes again.
  public static var wasTaken: SegueError {
    SegueError(.invalidState, "push: it, or a later one of the activity, was taken before")
  }
}
