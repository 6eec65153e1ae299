// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Tells one part of the host which activity a document has (R5.2). It ends with its last handle, or its document.
open class DocumentObserver: Delegate {
  public let document: LiveDocument
  /// The activity that it knows of. Guarded by the app's lock.
  var told: LiveActivity?

  public init(of document: LiveDocument) { self.document = document }

  /// Tells the host that the document has another activity than before.
  open func activityChanged(_ old: LiveActivity?, _ new: LiveActivity?) {}

  public final override func lastHandleReleased() {
    super.lastHandleReleased()
    document.app.remove(self)
  }
}
