// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The pushes between this device and others (R3.15), and those that its mailbox keeps (R14.5).
extension DeviceService {
  /// Has another device continue an offer of this one (R3.15).
  /// - Parameters:
  ///   - app: the bundle identifier of the app there; nil: whatever fits.
  ///   - timeout: milliseconds for the answer, in which the user there may be asked.
  ///   - answer: called once: the continuation has begun there, or why not. Not called if the client goes.
  /// Throws NOT_FOUND, INVALID_ARGUMENT, CONNECTION_UNAVAILABLE.
  public func push(
    _ activity: Identifier, to peer: Identifier, app: String?, timeout: Int64?, for client: ControlClient,
    _ answer: @escaping ControlClient.Answer
  ) throws(SegueError) {
    guard let found = snapshot.devices.first(where: { $0.id == peer }) else {
      throw SegueError(.notFound, "device: the account has no such device")
    }
    guard !found.isThisDevice else { throw SegueError(.invalidArgument, "device: is this one") }
    let isLinked = links?.certificate(of: peer) != nil
    let mailbox = isLinked ? nil : retention.mailbox
    let request = OutgoingPushes.Request(
      activity: activity, timeout: timeout, client: client, privacy: settings.privacy
    ) { [self] result in
      if isLinked, case .success = result { retention.pushed(activity, to: peer) }
      answer(ControlClient.map(result) { made throws(SegueError) in try value(of: made, at: mailbox) })
    }
    guard isLinked else { return try keepPush(request, to: peer, found.name, app: app, answer) }
    pushes.outgoing.push(request, to: peer, found.name) { [retention] number, milliseconds throws(SegueError) in
      .push(
        PushRequest(
          number: number, activity: activity, app: app, milliseconds: milliseconds, order: retention.takeNumber()))
    }
  }

  /// Ends what waits for devices that are not linked any longer: not at once, as a link may take another one's place.
  func keepPushes() {
    environment.post { [self] in if !isClosed { pushes.keep(links?.devices ?? []) } }
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

extension DeviceService: InboxObserver {
  public func offerEnded(_ activity: Identifier) { pushes.incoming.gone(activity) }
  public func retentionChanged() { retention.retentionChanged() }
}

extension DeviceService: DevicePushesOwner {
  func post(_ message: [UInt8], to device: Identifier) {
    environment.post { [self] in messages?.send(message, to: device) }
  }

  func knownName(of device: Identifier) -> String? { snapshot.devices.first { $0.id == device }?.name }
}
