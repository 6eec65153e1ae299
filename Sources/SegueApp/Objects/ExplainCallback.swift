// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine

/// A callback for the answer to "why is it not offered there?".
open class ExplainCallback {
  public init() {}
  /// Called once, without locks; then released.
  open func explained(_ app: App, _ reasons: [Reason]) {}
}
