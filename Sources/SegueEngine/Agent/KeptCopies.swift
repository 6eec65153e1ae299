// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The file of an attachment that an app has handed over with what it leaves (R2.5). The app may be hostile, and may
/// write to the file.
public final class HandedAttachment: AttachmentSource, @unchecked Sendable {
  public let descriptor: PassedDescriptor
  /// When the file was changed last, as the app says: nanoseconds since 1970.
  public let changed: UInt64

  init(_ descriptor: PassedDescriptor, changed: UInt64) {
    self.descriptor = descriptor
    self.changed = changed
    super.init()
  }
}

/// Copies the attachments of what apps have left (R2.5): the disk gets a document once as many as possible are copied.
/// The files are held meanwhile, so that the app may end.
final class KeptCopies {
  /// The most files that are held; of those of one process a quarter. Others are not kept.
  static let fileLimit = 1_024

  private struct Copy {
    /// As the owner of the engine knows it.
    let id: Identifier
    let record: KeptRecord
    let principal: Identifier
    /// The uptime at which the rest is given up; nil: that has passed.
    var deadline: Int64?
  }

  private let agent: AgentContext
  private var copies: [Copy] = []

  init(_ agent: AgentContext) { self.agent = agent }

  /// Those attachments of a record whose files have come: in its order, as many as are stored of one activity.
  static func choose(_ files: [Attachment], for record: KeptRecord) -> KeptRecord {
    var room = UInt64(Limits.storedAttachments)
    var chosen: [Attachment] = []
    for attachment in record.attachments where attachment.size <= room {
      guard let file = files.first(where: { Text.isSame($0.name, attachment.name) }) else { continue }
      room -= attachment.size
      chosen.append(file)
    }
    return record.keeping(chosen)
  }

  /// The files that are held, of a principal, or of all.
  func fileCount(of principal: Identifier? = nil) -> Int {
    copies.reduce(0) { count, copy in
      principal.map { $0 != copy.principal } ?? false ? count : count + copy.record.fileCount
    }
  }

  /// Copies what the record has of its attachments.
  /// - Returns: false if that is impossible.
  func begin(_ record: KeptRecord, principal: Identifier, _ now: Instant) -> Bool {
    guard let id = agent.owner.drawIdentifier() else { return false }
    copies.append(
      Copy(id: id, record: record, principal: principal, deadline: now.uptime + agent.limits.continuation))
    agent.owner.collect(record.attachments.filter { $0.source != nil }, of: id, for: principal)
    return true
  }

  func contains(_ activity: Identifier) -> Bool { copies.contains { $0.record.activity == activity } }

  /// The attachments that are being copied for an activity are no longer wanted.
  func stop(_ activity: Identifier) {
    guard let index = copies.firstIndex(where: { $0.record.activity == activity }) else { return }
    agent.owner.stopCollecting(copies.remove(at: index).id)
  }

  /// As many as could be copied are here.
  /// - Returns: what is to be stored; nil if that is no longer wanted.
  func end(_ id: Identifier, _ found: [Attachment]) -> KeptRecord? {
    guard let index = copies.firstIndex(where: { $0.id == id }) else { return nil }
    return copies.remove(at: index).record.keeping(found)
  }

  /// The agent ends.
  /// - Returns: what is to be stored without attachments.
  func flush() -> [KeptRecord] {
    defer { copies = [] }
    return copies.map { $0.record.keeping([]) }
  }

  /// Whether all are of these activities.
  func areAll(of activities: [Identifier]) -> Bool { copies.allSatisfy { activities.contains($0.record.activity) } }

  // MARK: Time

  func tick(_ now: Instant) {
    for index in copies.indices where copies[index].deadline.map({ $0 <= now.uptime }) ?? false {
      copies[index].deadline = nil
      agent.owner.stopCollecting(copies[index].id)
    }
  }

  var nextDeadline: Int64? { copies.reduce(nil) { earlier($0, $1.deadline) } }
}

extension KeptRecord {
  /// The files that it holds.
  var fileCount: Int { attachments.count { $0.source != nil } }
}
