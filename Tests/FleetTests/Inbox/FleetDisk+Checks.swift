// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueAgentCore
import SegueEngine
import SegueModel
import SegueStore

@testable import SegueFleet

extension FleetDisk {
  /// The content of an attachment that an app fetches.
  func attachment(_ key: StoredAttachmentKey) -> Result<[UInt8], SegueError> {
    do throws(SegueError) {
      return .success(
        try read { inbox throws(SegueError) in
          let payload: StoredPayload?
          if let activity = key.kept {
            payload = try inbox.keptOffer(activity)?.payload
          } else {
            payload = try inbox.entry(key.id)?.payload
          }
          let stored = payload?.attachments.first { $0.name == key.name }
          guard let stored else { throw SegueError(.notFound, "there is none of that name") }
          return try Self.bytes(of: stored, in: inbox)
        })
    } catch {
      return .failure(error)
    }
  }

  private static func bytes(of stored: StoredAttachment, in inbox: Inbox) throws(SegueError) -> [UInt8] {
    guard let file = tmpfile() else { throw SegueError(.system, "no file") }
    defer { fclose(file) }
    try inbox.copy(stored, to: fileno(file))
    var bytes = [UInt8](repeating: 0, count: Int(stored.size))
    guard pread(fileno(file), &bytes, bytes.count, 0) == bytes.count else { throw SegueError(.system, "no bytes") }
    return bytes
  }

  /// For the user, and for checkers.
  func entries() throws(SegueError) -> [InboxEntry] {
    try read { inbox throws(SegueError) in try inbox.entries() }
  }
}
