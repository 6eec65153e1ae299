// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A document on its way from an app that leaves an activity with the agent (R2.5).
struct IncomingSnapshot {
  let channel: FramedConnection.Channel
  let activity: Identifier
  let app: AppIdentity
  /// The principal that the hub charges.
  let principal: Identifier
  let size: Int
  /// The uptime by which it has arrived.
  let deadline: Int64
  fileprivate(set) var document: [UInt8] = []
  /// The attachments whose files have come.
  fileprivate(set) var files: [Attachment] = []

  init(
    channel: FramedConnection.Channel, activity: Identifier, app: AppIdentity, principal: Identifier, size: Int,
    deadline: Int64
  ) {
    self.channel = channel
    self.activity = activity
    self.app = app
    self.principal = principal
    self.size = size
    self.deadline = deadline
  }
}

/// The documents on their way from apps, each on a channel of the hub's connection.
struct IncomingSnapshots {
  private let agent: AgentContext
  private let hub: HubConnection
  private var list: [IncomingSnapshot] = []

  init(_ agent: AgentContext, _ hub: HubConnection) {
    self.agent = agent
    self.hub = hub
  }

  mutating func append(_ arrival: IncomingSnapshot) { list.append(arrival) }

  /// Takes no more of what an app leaves.
  mutating func drop(of app: Identifier) {
    while let index = list.firstIndex(where: { $0.app.id == app }) { drop(at: index) }
  }

  /// Takes no more of what has not arrived in time.
  mutating func dropOverdue(_ now: Instant) {
    while let index = list.firstIndex(where: { $0.deadline <= now.uptime }) { drop(at: index) }
  }

  private mutating func drop(at index: Int) { hub.link?.reset(list.remove(at: index).channel) }

  /// Takes the next bytes of a document. The largest ones are dropped if there is no room for all.
  /// - Parameter others: the bytes that count against the same limit.
  mutating func received(
    _ bytes: ArraySlice<UInt8>, on channel: FramedConnection.Channel, besides others: Int, _ now: Instant
  ) {
    guard let index = index(of: channel) else { return }
    list[index].document.append(contentsOf: bytes)
    if list[index].document.count > list[index].size { drop(at: index) }
    // Only received bytes count against the limit, not announced ones.
    while list.reduce(others, { $0 + $1.document.count }) > Limits.keptBytes,
      let largest = list.indices.max(by: { list[$0].document.count < list[$1].document.count })
    {
      agent.log(.error, "\(list[largest].app.name) leaves more than there is room for", now)
      drop(at: largest)
    }
  }

  /// The document is complete.
  /// - Returns: nil if it is not as large as announced, or none comes on that channel.
  mutating func receivedEnd(of channel: FramedConnection.Channel) -> IncomingSnapshot? {
    guard let index = index(of: channel) else { return nil }
    let snapshot = list.remove(at: index)
    return snapshot.document.count == snapshot.size ? snapshot : nil
  }

  /// The app sends no more of it.
  mutating func receivedReset(of channel: FramedConnection.Channel) { list.removeAll { $0.channel == channel } }

  /// The connection is lost.
  mutating func removeAll() { list = [] }

  // MARK: Attachments

  /// Adds the file of an attachment to what comes on a channel.
  mutating func append(_ file: Attachment, of channel: FramedConnection.Channel) {
    if let index = index(of: channel) { list[index].files.append(file) }
  }

  /// The principal that is charged for what comes on a channel; nil if nothing does.
  func principal(of channel: FramedConnection.Channel) -> Identifier? { index(of: channel).map { list[$0].principal } }

  /// The files that have come, of a principal, or of all.
  func fileCount(of principal: Identifier?) -> Int {
    list.reduce(0) { count, each in
      principal.map { $0 != each.principal } ?? false ? count : count + each.files.count
    }
  }

  var nextDeadline: Int64? { list.reduce(nil) { earlier($0, $1.deadline) } }

  private func index(of channel: FramedConnection.Channel) -> Int? { list.firstIndex { $0.channel == channel } }
}
