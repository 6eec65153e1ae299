// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A callback for a stream.
open class StreamRequestCallback {
  public let activity: LiveActivity
  /// The local end.
  public private(set) var stream: LiveStream?

  /// Gets the answer in place of the host, and has the local end.
  let download: (any AppDownload)?

  public init(_ activity: LiveActivity) {
    self.activity = activity
    download = nil
  }

  public init(_ download: any AppDownload) {
    activity = download.activity
    self.download = download
  }

  /// Called once, without locks; then released.
  open func answered(_ activity: LiveActivity, _ stream: LiveStream?, _ error: SharedBox<SegueError>?) {}

  final func keep(_ stream: LiveStream) { self.stream = stream }
}
