// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSegue

/// A host's context: destroyed exactly once, when the last reference is gone.
public final class Context {
  public let pointer: UnsafeMutableRawPointer?
  private let destroy: segue_destroy?

  public init(_ pointer: UnsafeMutableRawPointer?, _ destroy: segue_destroy?) {
    self.pointer = pointer
    self.destroy = destroy
  }

  deinit {
    // A call may be failing, which has set the last error already.
    if let destroy { LastError.preserving { destroy(pointer) } }
  }
}
