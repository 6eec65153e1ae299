// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The problems that other devices and beacons show: another machine has the keys of this device, its clock differs, or
/// it is said to be removed.
struct DeviceProblems {
  /// Another machine that has the keys of this device.
  var copy = DeviceCopy()
  /// The time in beacons, if it differs from the time here.
  var otherClock = OtherClock()
  /// The statement of another device that this one was removed. It is not believed alone, and undoes nothing.
  var removal: SegueError?

  /// The uptimes at which `expire` has something to do.
  var deadlines: [Int64?] { [copy.deadline, otherClock.deadline] }

  /// - Returns: whether a problem has just ended.
  mutating func expire(at uptime: Int64) -> Bool {
    // Both are asked: one may end while the other one lasts.
    let ended = [copy.expire(at: uptime), otherClock.expire(at: uptime)]
    return ended.contains(true)
  }
}
