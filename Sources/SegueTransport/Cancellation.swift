// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux

/// Disables `pthread_cancel` in a thread: a thread that ends inside the library would keep its locks, and the objects
/// in use. Each exported function that may call the system or the host does this (`HandleTable.call`, `attempt`).
public enum Cancellation {
  /// - Returns: the argument for `restore`; calls nest.
  @inline(never)
  public static func disable() -> Int32 {
    var former: Int32 = 0
    pthread_setcancelstate(linux_cancel_disable(), &former)
    return former
  }

  public static func restore(_ former: Int32) { pthread_setcancelstate(former, nil) }

  /// Ends the thread if it was cancelled meanwhile, and cancelling it is enabled. The caller must hold nothing: its
  /// frames are left without a clean-up.
  public static func takeEffect() { pthread_testcancel() }
}
