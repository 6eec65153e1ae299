// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A callback for how a stream has ended.
open class StreamEndCallback {
  public init() {}
  /// Called once, without locks; then released.
  open func ended(_ stream: LiveStream, _ status: StreamStatus) {}
}
