// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The attachments that an app fetches. Guarded by the app's lock.
struct DownloadTable {
  private(set) var all: [any AppDownload] = []
  /// Results about the streams that downloads have requested, until the downloads get them.
  private var answers: [(download: any AppDownload, error: SegueError?)] = []

  /// Whether the app fetches as many as it may.
  var isFull: Bool { all.count >= Limits.transfers }

  mutating func append(_ download: any AppDownload) { all.append(download) }

  mutating func remove(_ download: any AppDownload) {
    if let index = all.firstIndex(where: { $0 === download }) { all.remove(at: index) }
  }

  mutating func removeAll() { all = [] }

  /// The stream that a download has requested is there, or has failed.
  mutating func append(answer error: SegueError?, for download: any AppDownload) { answers.append((download, error)) }

  /// - Returns: the results that the downloads are to get.
  mutating func takeAnswers() -> [(download: any AppDownload, error: SegueError?)] {
    guard !answers.isEmpty else { return [] }
    defer { answers = [] }
    return answers
  }
}
