// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The documents of entries on their way to apps: from the disk, a few at a time, to the channels of the hub.
final class InboxDocuments {
  /// The most documents in memory.
  private static let limit = 4

  private let agent: AgentContext
  private let hub: HubConnection
  private let apps: OpenApps

  init(_ agent: AgentContext, _ hub: HubConnection, _ apps: OpenApps) {
    self.agent = agent
    self.hub = hub
    self.apps = apps
  }

  /// An app asks for the document of what it was told of.
  /// - Parameter id: of the delivery.
  func fetched(_ id: Identifier, by app: Identifier, _ now: Instant) {
    guard let index = apps.index(of: app), let delivery = apps[index].delivery,
      delivery.item.continuation.ofDelivery == id
    else {
      return hub.send(.refused(id, to: app, SegueError(.handoffFailed, "it does not wait for this app")))
    }
    if case .acknowledging = delivery.phase { return }
    if let channel = delivery.channel { hub.link?.reset(channel) }
    apps[index].delivery?.phase = .queued
    apps[index].delivery?.isFetched = true
    loadQueued()
  }

  func loadQueued() {
    for index in apps.indices {
      guard let delivery = apps[index].delivery, case .queued = delivery.phase,
        apps.documentCount < Self.limit
      else { continue }
      apps[index].delivery?.phase = .loading
      agent.owner.perform(.load(delivery.item.continuation, app: apps[index].identity.id))
    }
  }

  /// Whether an app has the entry of a delivery, and may fetch its attachments.
  /// - Parameter id: of the delivery.
  func has(_ id: Identifier, _ app: Identifier) -> Bool {
    apps.index(of: app).map { apps[$0].delivery?.item.continuation == id.ofDelivery } ?? false
  }

  /// The document was read from the disk.
  /// - Returns: false if it cannot be sent: the delivery ends.
  func loaded(_ continuation: Identifier, by app: Identifier, _ result: Result<[UInt8], SegueError>) -> Bool {
    guard let index = apps.index(of: app), let delivery = apps[index].delivery,
      delivery.item.continuation == continuation, case .loading = delivery.phase
    else { return true }
    let id = continuation.ofDelivery
    do throws(SegueError) {
      let document = try result.get()
      guard let link = hub.link, hub.isWelcome, link.openCount < FramedConnection.channelLimit else {
        // The app asks again through the next hub.
        apps[index].delivery?.phase = .announced
        return true
      }
      let channel = link.open()
      let folders = delivery.item.originFolders
      if !folders.isEmpty { hub.send(.originFolders(id, to: app, folders)) }
      hub.send(
        .state(
          id, to: app, channel: channel, size: UInt64(document.count), isStale: delivery.item.isStale, why: ""))
      apps[index].delivery?.phase = .sending(channel, document, sent: 0)
      pump(channel)
      return true
    } catch {
      // It was dropped, or has expired.
      hub.send(.refused(id, to: app, SegueError(.handoffFailed, "the inbox: \(error.message)")))
      return false
    }
  }

  /// Sends as much of a document as its channel accepts.
  func pump(_ channel: FramedConnection.Channel) {
    for index in apps.indices {
      guard let link = hub.link, case .sending(channel, let document, let sent)? = apps[index].delivery?.phase else {
        continue
      }
      let end = min(document.count, sent + link.availableCredit(of: channel))
      link.write(document[sent..<end], to: channel)
      guard end == document.count else {
        apps[index].delivery?.phase = .sending(channel, document, sent: end)
        return
      }
      link.finish(channel)
      apps[index].delivery?.phase = .announced
      apps[index].delivery?.isSent = true
      // So that a later agent believes its answer, too. The app need not wait for it: to one that does not know, the
      // answer is a failure, and the next delivery is marked.
      if let delivery = apps[index].delivery {
        agent.owner.perform(.sent(delivery.item.continuation, app: apps[index].identity.id))
      }
      return loadQueued()
    }
  }

  /// The app takes no more of it.
  func receivedReset(of channel: FramedConnection.Channel) {
    for index in apps.indices {
      if apps[index].delivery?.channel == channel { apps[index].delivery?.phase = .announced }
    }
    loadQueued()
  }

  var brokenInvariant: StaticString? { apps.documentCount > Self.limit ? "agent: too many documents" : nil }
}
