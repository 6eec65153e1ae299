// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The snapshot that this app leaves with the agent when it goes to the background or ends (R2.5). The agent offers it
/// once the app has ended.
final class KeptSnapshot: AppFeature {
  private let app: AppContext
  private let hub: HubConnection
  private let saves: Saves
  /// The activity that is left once it is saved.
  private var pending: Identifier?
  /// The activity that the agent has, or is about to get. The next agent gets it, too. Without a document: the agent is
  /// to forget it.
  private var kept: (activity: Identifier, document: [UInt8]?, attachments: [Attachment])?
  /// The channel of the document, 0 if it is not on its way; and the number of its bytes that have gone.
  private var channel: FramedConnection.Channel = 0
  private var sent = 0
  /// Whether an agent takes part at the hub.
  private var isPossible = false
  /// Whether the app was told that no agent runs.
  private var hasWarned = false

  init(_ app: AppContext, _ hub: HubConnection, _ saves: Saves) {
    self.app = app
    self.hub = hub
    self.saves = saves
  }

  var isSending: Bool { channel != 0 }

  // MARK: Leaving an activity

  /// The app goes to the background, or ends, or has released the activity, which is current.
  func leave(_ id: Identifier?, _ now: Instant) {
    guard let id, let state = app.owner.activity(id), state.keepsOffering, state.isOfferable(at: now.date) else {
      return
    }
    guard !app.identity.isChooser else { return app.log(.error, "keep offering: not for a chooser's activities") }
    pending = id
    sendWhenSaved()
  }

  /// Leaves what was saved, or the last snapshot if saving has failed.
  func sendWhenSaved() {
    guard let id = pending, !saves.isSaving(id) else { return }
    pending = nil
    guard let snapshot = saves.snapshot(of: id) else {
      return app.log(.error, "keep offering: the activity could not be saved")
    }
    kept = (id, snapshot.document, app.owner.activity(id)?.attachments ?? [])
    hasWarned = false
    send()
  }

  /// Another activity may be offered in place of what was left.
  func noteCurrent(_ id: Identifier?) {
    guard let id else { return }
    if let pending, pending != id { self.pending = nil }
    if let kept, kept.activity != id { forget(kept.activity) }
  }

  /// The app may have taken back that it is to be kept.
  func changed(_ id: Identifier) {
    guard pending == id || kept?.activity == id, let state = app.owner.activity(id) else { return }
    if !state.keepsOffering { forget(id) }
  }

  /// The activity resigns, or is invalidated.
  func forget(_ id: Identifier) {
    if pending == id { pending = nil }
    guard kept?.activity == id, kept?.document != nil else { return }
    kept = (id, nil, [])
    send()
  }

  // MARK: Sending

  private func send() {
    stop()
    guard let kept, let link = hub.link, hub.isWelcome else { return }
    guard hub.agent != nil else { return tellUnavailable() }
    guard isPossible else { return }
    guard let document = kept.document else {
      // The next agent hears it, too: this one may die before its disk has forgotten the activity.
      return hub.send(.keep(kept.activity, app: app.identity.id, channel: 0, size: 0))
    }
    guard link.openCount < FramedConnection.channelLimit else { return logRefusal() }
    channel = link.open()
    hub.send(.keep(kept.activity, app: app.identity.id, channel: channel, size: UInt64(document.count)))
    handOver(kept.attachments)
    pump(channel)
  }

  /// Hands the files of the attachments to the agent, in their order, as many as it keeps: they go before the document
  /// does, and can be read when this app has gone.
  private func handOver(_ attachments: [Attachment]) {
    var room = UInt64(Limits.storedAttachments)
    for attachment in attachments {
      guard attachment.size <= room else {
        logLoss(of: attachment, "at most \(Limits.storedAttachments) bytes are kept of one activity")
        continue
      }
      guard let source = attachment.source else {
        logLoss(of: attachment, "only its former origin has it")
        continue
      }
      guard let file = app.owner.handOver(source) else {
        logLoss(of: attachment, "was changed since, or is no file of this device that can be opened")
        continue
      }
      room -= attachment.size
      hub.send(.keepAttachment(channel: channel, attachment.name, changed: file.changed), with: file.descriptor)
    }
  }

  private func logLoss(of attachment: Attachment, _ why: DiagnosticText) {
    app.log(.error, "keep offering: attachment \(attachment.name) is not kept: \(why)")
  }

  /// Sends as much of the document as its channel accepts.
  func pump(_ channel: FramedConnection.Channel) {
    guard channel == self.channel, channel != 0, let link = hub.link, let document = kept?.document else { return }
    let end = min(document.count, sent + link.availableCredit(of: channel))
    link.write(document[sent..<end], to: channel)
    sent = end
    guard end == document.count else { return }
    link.finish(channel)
    (self.channel, sent) = (0, 0)
  }

  private func stop() {
    if channel != 0 { hub.link?.reset(channel) }
    (channel, sent) = (0, 0)
  }

  /// The agent does not take it.
  func receivedReset(of channel: FramedConnection.Channel) {
    guard channel == self.channel, channel != 0 else { return }
    (self.channel, sent) = (0, 0)
    logRefusal()
  }

  private func logRefusal() { app.log(.error, "keep offering: the agent did not take the activity") }

  private func tellUnavailable() {
    guard kept?.document != nil, !hasWarned else { return }
    hasWarned = true
    app.log(.error, "keep offering: CONNECTION_UNAVAILABLE: no agent runs; start segue-agent")
  }

  // MARK: Life cycle

  /// Each agent gets it, or hears that the app has taken it back.
  func becomePossible() {
    isPossible = true
    send()
  }

  func connected(_ now: Instant) { send() }

  func disconnected(_ now: Instant) { (channel, sent, isPossible) = (0, 0, false) }

  func tick(_ now: Instant) { sendWhenSaved() }

  func close(_ error: SegueError, _ now: Instant) {
    sendWhenSaved()
    if !isPossible { tellUnavailable() }
  }
}
