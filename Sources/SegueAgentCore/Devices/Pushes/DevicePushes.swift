// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The pushes between this device and others (R3.15), in both directions. For one thread.
public final class DevicePushes {
  let outgoing: OutgoingPushes
  public let incoming: IncomingPushes
  /// Those that this device keeps for others (R14.5).
  let kept: KeptPushes
  /// The clients that wait for pushes of other devices, to ask the user.
  private let watchers: StateWatchers
  private let peers: PushPeers

  /// Throws SYSTEM without random numbers.
  convenience init(
    _ inbox: any RetainingInbox, _ retention: DeviceRetention, in environment: any AgentEnvironment
  ) throws(SegueError) {
    let drawn = try environment.drawIdentifier().bytes
    let number = drawn.prefix(4).reduce(0) { $0 << 8 | UInt64($1) }
    self.init(inbox, retention, try StateWatchers(of: "pushes", in: environment), after: number, environment)
  }

  /// - Parameter number: a random one, so that an answer to a former agent is none to this one.
  private init(
    _ inbox: any RetainingInbox, _ retention: DeviceRetention, _ watchers: StateWatchers, after number: UInt64,
    _ environment: any AgentEnvironment
  ) {
    self.watchers = watchers
    peers = PushPeers(in: environment)
    outgoing = OutgoingPushes(inbox, peers, after: number, in: environment)
    incoming = IncomingPushes(inbox, watchers, peers, in: environment)
    kept = KeptPushes(inbox, outgoing, retention, peers)
  }

  /// Has the owner carry out what follows, until `close`.
  func open(for owner: any DevicePushesOwner) { peers.open(for: owner) }

  /// No call may follow.
  func close() {
    outgoing.close()
    incoming.close()
    peers.close()
  }

  /// - Parameters:
  ///   - device: as its certificate says.
  ///   - policy: the user's setting.
  func handle(_ message: DeviceMessage, from device: Identifier, _ policy: PushPolicy) {
    switch message {
    case .push(let request): incoming.receive(request, from: device, policy)
    case .pushed(let number, let result): outgoing.answered(number, by: device, result)
    case .withdrawn(let number):
      incoming.withdrawn(number, by: device)
      kept.withdrawn(number, by: device)
    case .deliverPush(let number, let push, let milliseconds):
      incoming.receive(push, number, milliseconds: milliseconds, from: device, policy)
    case .keepPush(let request): kept.keep(request, of: device)
    case .removed, .copied, .addresses, .retain, .retained, .keptPushes, .dropPushes: break
    }
  }

  /// Only these devices are linked: what waits for others ends.
  func keep(_ linked: [Identifier]) {
    outgoing.keep(linked)
    incoming.keep(linked)
  }

  /// Answers when there is another state of what others push; meanwhile there is somebody who can ask the user.
  public func watch(
    after: Int64?, timeout: Int64, for client: ControlClient, _ answer: @escaping ControlClient.Answer
  ) throws(SegueError) {
    incoming.publish()
    try watchers.get(after: after, timeout: timeout, for: client, answer)
    peers.deadlineChanged()
  }

  func abandon(_ client: ControlClient) {
    watchers.abandon(client)
    outgoing.abandon(client)
  }

  // MARK: Time

  var nextDeadline: Int64? {
    let deadlines = [watchers.nextDeadline, incoming.nextDeadline, outgoing.nextDeadline]
    return deadlines.compactMap { $0 }.min()
  }

  func tick(_ uptime: Int64) {
    watchers.tick(uptime)
    incoming.tick(uptime)
    outgoing.tick(uptime)
  }
}
