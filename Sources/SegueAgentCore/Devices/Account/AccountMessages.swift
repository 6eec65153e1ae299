// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The messages between the agents of linked devices about their account (docs/trust.md, "Over links"). For one thread.
public final class AccountMessages {
  /// Messages to or from one device that wait: to one that does not greet, and for the account's thread. Those above it
  /// are dropped.
  private static let limit = 16

  private let account: AccountClient
  private let hub: any LinkHub
  private let environment: any AgentEnvironment
  /// Linked devices that hear this one over the link that there is: what is sent before is lost.
  private var readyDevices: [Identifier] = []
  /// The messages that wait until their device hears this one, in their order.
  private var unsent: [(device: Identifier, message: [UInt8])] = []
  /// The senders of the messages that the account's thread has not handled yet, once for each message.
  private var waiting: [Identifier] = []
  /// Devices of which the log says already that they say more than is heard.
  private var loud: [Identifier] = []
  /// The certificate of a linked device; nil if it is not linked.
  private let certificate: (Identifier) -> PeerCertificate?
  /// The first message to a device; nil without an account.
  private let greeting: () -> [UInt8]?
  /// Called with what is about something else than the members of the account.
  private let said: (DeviceMessage, Identifier) -> Void
  /// Called with what is about relays, at once, and with a device whose session begins or resumes (nil). It must not
  /// call the hub.
  private let relayed: (_ message: [UInt8]?, Identifier) -> Void
  private var isClosed = false

  /// - Parameter hub: `open` has its messages come here, `close` ends that.
  public init(
    _ account: AccountClient, _ hub: any LinkHub, in environment: any AgentEnvironment,
    certificate: @escaping (Identifier) -> PeerCertificate?, greeting: @escaping () -> [UInt8]?,
    said: @escaping (DeviceMessage, Identifier) -> Void, relayed: @escaping (_ message: [UInt8]?, Identifier) -> Void
  ) {
    (self.account, self.hub, self.environment) = (account, hub, environment)
    (self.certificate, self.greeting, self.said) = (certificate, greeting, said)
    self.relayed = relayed
  }

  public func open() {
    hub.setAccountHandler { [unowned(unsafe) self] peer, message in self.heard(message, from: peer) }
  }

  public func close() {
    isClosed = true
    hub.setAccountHandler(nil)
  }

  /// Forgets what waits for a device with which a link has begun or ended: a greeting comes first.
  public func linkChanged(_ peer: Identifier) {
    readyDevices.removeAll { $0 == peer }
    unsent.removeAll { $0.device == peer }
    loud.removeAll { $0 == peer }
  }

  /// Sends a message, or has it wait for the greeting of the other hub, whose answer comes by here.
  public func send(_ message: [UInt8], to peer: Identifier) {
    guard readyDevices.contains(peer) else {
      let isLinked = certificate(peer) != nil
      if isLinked, unsent.count(where: { $0.device == peer }) < Self.limit { unsent.append((peer, message)) }
      return
    }
    sendWaiting(to: peer)
    hub.sendAccount(message, to: peer)
  }

  /// Sends the messages that have waited for the greeting, which they follow.
  private func sendWaiting(to peer: Identifier) {
    guard !isClosed, readyDevices.contains(peer) else { return }
    let due = unsent.filter { $0.device == peer }
    unsent.removeAll { $0.device == peer }
    for (_, message) in due { hub.sendAccount(message, to: peer) }
  }

  /// Handles what a device has said. The hub must not be called from here.
  /// - Parameter message: nil: the session of its hub begins.
  /// - Returns: the greeting for a session that begins, which goes out with the hub's own first messages; nil else.
  private func heard(_ message: [UInt8]?, from peer: Identifier) -> [UInt8]? {
    guard let message else {
      if !readyDevices.contains(peer) { readyDevices.append(peer) }
      if unsent.contains(where: { $0.device == peer }) { environment.post { [self] in sendWaiting(to: peer) } }
      relayed(nil, peer)
      return greeting()
    }
    // Before its session it waits for a roster that lists this device.
    if !readyDevices.contains(peer) { readyDevices.append(peer) }
    if RelayMessage.isOne(message) { relayed(message, peer) } else { receive(message, from: peer) }
    return nil
  }

  private func receive(_ message: [UInt8], from peer: Identifier) {
    guard let sender = certificate(peer) else { return }
    guard waiting.count(where: { $0 == peer }) < Self.limit else {
      guard !loud.contains(peer) else { return }
      loud.append(peer)
      return environment.log(.info, "a device says more about the account than is heard")
    }
    waiting.append(peer)
    account.use(
      size: message.count,
      { account, now throws(SegueError) in
        account.take(sender)
        // Nothing that a revoked device says counts, also of what is not about the account.
        let known = try? DeviceMessage.known(message)
        if let known, (try? account.accepted(sender.encoding, at: now)) != nil { return ([], known) }
        return (account.receive(message, from: sender.encoding, at: now), nil)
      }
    ) { [self] (result: Result<DeviceMessage?, SegueError>) in
      if let index = waiting.firstIndex(of: peer) { waiting.remove(at: index) }
      if case .success(let message?) = result { said(message, peer) }
    }
  }
}
