// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A callback for the end of a deletion of saved activities.
open class DeletionCallback {
  public init() {}
  /// Called once, without locks; then released.
  /// - Parameter count: how many there were; 0 with an error.
  open func deleted(_ app: App, _ count: Int, _ error: SharedBox<SegueError>?) {}
}
