// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Tells the user what to do when two machines have the keys of one device, because a state folder was copied.
enum CopyAdvice {
  /// - Parameters:
  ///   - what: names the device, and says how the copy was noticed.
  ///   - isManager: whether that device is the manager, which no other device can invite or revoke.
  static func error(_ what: DiagnosticText, isManager: Bool) -> SegueError {
    guard isManager else {
      return SegueError(
        .invalidState,
        """
        \(what): its state folder was copied; `segue account leave` on both machines, `segue revoke` at the manager if \
        it still lists the device, then let each join with an invite of its own
        """)
    }
    return SegueError(
      .invalidState,
      """
      \(what): its state folder was copied; `segue account leave --abandon` on one of the two machines, then let that \
      one join with an invite of the other, which stays the manager
      """)
  }
}
