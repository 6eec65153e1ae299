// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueModel
import Testing

/// An attachment whose stream breaks is asked for again (R7.6).
@Suite struct AttachmentRetryTests {
  private let silent = SegueError(.remoteApplicationTimedOut, "silent")

  /// The pauses until it gives up, and the error with which it does.
  private func pauses(_ retry: AttachmentRetry, from uptime: Int64) -> ([Int64], SegueError?) {
    var (retry, now, found) = (retry, uptime, [Int64]())
    while true {
      do throws(SegueError) {
        found.append(try retry.next(after: AttachmentRetry.broken, at: now))
        now += found.last ?? 0
      } catch { return (found, error) }
    }
  }

  @Test func `it looks two seconds for an origin that has sent nothing, at longer and longer intervals`() {
    let retry = AttachmentRetry(at: 1_000, resumeTime: 60_000)
    #expect(pauses(retry, from: 1_000) == ([50, 100, 200, 400, 800], AttachmentRetry.broken))
    #expect(retry.timeout(at: 1_000) == 2_000 && retry.timeout(at: 2_999) == 1 && retry.timeout(at: 9_000) == 1)
  }

  @Test func `once something has come it looks for longer, since then`() throws {
    var retry = AttachmentRetry(at: 0, resumeTime: 5_000)
    _ = try retry.next(after: silent, at: 0)
    _ = try retry.next(after: silent, at: 50)
    retry.heard(at: 500, hasContent: false)
    #expect(pauses(retry, from: 500) == ([200, 400, 800, 1_000, 1_000, 1_000], AttachmentRetry.broken))
    retry.heard(at: 60_000, hasContent: true)
    #expect(pauses(retry, from: 60_000).0.prefix(3) == [50, 100, 200])
    #expect(retry.timeout(at: 60_000) == 5_000)
  }

  @Test func `what its origin refuses is not asked for again`() {
    var retry = AttachmentRetry(at: 0, resumeTime: 5_000)
    let refused = SegueError(.notFound, "none of that name")
    #expect(throws: refused) { try retry.next(after: refused, at: 0) }
  }
}
