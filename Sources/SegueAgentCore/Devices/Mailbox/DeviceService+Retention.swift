// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem
import SegueWire

/// The mailbox of this device, and this device as a mailbox (R14.5).
extension DeviceService {
  func openRetention() {
    retention.open()
    hub.setRetention(retention)
    // `close` ends all that may call. In a later turn: the hub may be in the middle of a call.
    retention.send = { [unowned(unsafe) self] message, peer in
      self.environment.post { [self] in self.messages?.send(message, to: peer) }
    }
    retention.changed = { [unowned(unsafe) self] in self.publish() }
    retention.pushesChanged = { [unowned(unsafe) self] in self.pushes.kept.deliver() }
    pushes.kept.check = { [unowned(unsafe) self] origin throws(SegueError) in try self.retention.check(origin) }
  }

  /// The settings or the devices of the account have changed.
  func setMailbox() {
    retention.set(settings.mailbox, settings.privacy)
    if retention.mailbox != nil, !retention.hasBegun, startsAgainAt == nil { countStart() }
  }

  /// Revisions are told once the disk has it that the agent has started once more: after the next start they are
  /// higher.
  private func countStart() {
    startsAgainAt = .max
    stored.keep({ $0.starts = min($0.starts + 1, OwnRevisions.lastStart) }) { [self] result in
      guard !isClosed else { return }
      startsAgainAt = nil
      switch result {
      case .success(let kept):
        startsPause.end()
        adopt(kept)
        retention.begin(kept.starts)
      case .failure(let error):
        environment.log(.error, "mailbox: \(error.message)")
        startsAgainAt = startsPause.take(after: error).map { environment.uptime + $0 }
      }
      setTimer()
    }
  }

  func tickRetention(_ uptime: Int64) {
    guard let at = startsAgainAt, at <= uptime else { return }
    startsAgainAt = nil
    setMailbox()
  }

  /// - Parameter peer: whose link has begun or ended; nil: all have ended.
  func retentionLinksChanged(_ peer: Identifier?, _ isLinked: Bool) {
    // Not at once, as a link may take another one's place.
    environment.post { [self] in
      guard !isClosed else { return }
      retention.keep(links?.devices ?? [])
      if let peer, isLinked { retention.began(peer) }
    }
  }

  /// Throws NOT_FOUND (no such device), INVALID_ARGUMENT (this device).
  func checkMailbox(_ request: Value) throws(SegueError) {
    guard let device = request["retain_on"]?.uuid else { return }
    guard let found = snapshot.devices.first(where: { $0.id == device }) else {
      throw SegueError(.notFound, "retain_on: the account has no such device")
    }
    guard !found.isThisDevice else {
      throw SegueError(.invalidArgument, "retain_on: is this device, which is away whenever it is needed")
    }
  }

  // MARK: Pushes to devices that are off (R3.15)

  /// Has the mailbox keep a push for a device that is not linked. Throws CONNECTION_UNAVAILABLE.
  func keepPush(
    _ request: OutgoingPushes.Request, to target: Identifier, _ name: String, app: String?,
    _ answer: @escaping ControlClient.Answer
  ) throws(SegueError) {
    guard let mailbox = retention.mailbox, mailbox != target else {
      throw SegueError(.connectionUnavailable, "\(name): is not linked now")
    }
    let mailboxName = self.name(of: mailbox)
    guard links?.certificate(of: mailbox) != nil else {
      throw SegueError(
        .connectionUnavailable, "\(name): is not linked now, and neither is \(mailboxName), which would keep the push")
    }
    pushes.outgoing.push(request, to: mailbox, mailboxName) { [retention] number, _ throws(SegueError) in
      .keepPush(
        try retention.request(number, to: target, request.activity, app: app, at: mailbox))
    }
  }

  /// The answer to a push, for its client.
  /// - Parameter mailbox: that keeps it; nil: it has begun.
  func value(of answer: PushAnswer, at mailbox: Identifier?) throws(SegueError) -> Value {
    var entries: Entries = [
      (key: .string("continuation_id"), value: .uuid(answer.continuation)),
      (key: .string("bundle_identifier"), value: .string(answer.bundleIdentifier)),
      (key: .string("app_name"), value: .string(mailbox.map { name(of: $0) } ?? answer.appName)),
    ]
    if let mailbox { entries.append((key: .string("retained_at"), value: .uuid(mailbox))) }
    return try .dictionary(entries)
  }
}
