// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// An object that other languages can hold by a handle.
open class HandleObject {
  /// The handle of this object, which only the handle table reads and writes; 0 if there is none.
  public final var ticket: UInt = 0

  public init() {}

  /// The last handle was released. Runs outside of all locks.
  open func lastHandleReleased() {}

  /// The last handle was released while other threads are in calls with the object; `lastHandleReleased` follows when
  /// these return. Runs outside of all locks.
  open func lastHandleReleasedInUse() {}
}
