// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The owner of `AccountMessages`.
protocol AccountMessagesOwner: AnyObject {
  /// Returns the certificate of a linked device; nil if it is not linked.
  func certificate(of device: Identifier) -> PeerCertificate?
  /// The first message to a device; nil without an account.
  var greeting: [UInt8]? { get }
  /// Handles what a device says that is about something else than the members of the account.
  func heard(_ message: DeviceMessage, from device: Identifier)
  /// Handles what a device says about relays. It must not call the hub.
  func heardRelay(_ message: [UInt8], from device: Identifier)
  /// A session with a device begins or resumes. It must not call the hub.
  func sessionBegan(with device: Identifier)
}

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
  /// The owner outlives this object's use of it. Nil after `close`.
  private unowned(unsafe) var owner: (any AccountMessagesOwner)?
  private var isClosed: Bool { owner == nil }

  /// - Parameter hub: `open` has its messages come here, `close` ends that.
  init(
    _ account: AccountClient, _ hub: any LinkHub, in environment: any AgentEnvironment,
    for owner: any AccountMessagesOwner
  ) {
    (self.account, self.hub, self.environment, self.owner) = (account, hub, environment, owner)
  }

  public func open() {
    hub.setAccountHandler { [self] peer, message in heard(message, from: peer) }
  }

  public func close() {
    owner = nil
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
      let isLinked = owner?.certificate(of: peer) != nil
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
      owner?.sessionBegan(with: peer)
      return owner?.greeting
    }
    // Before its session it waits for a roster that lists this device.
    if !readyDevices.contains(peer) { readyDevices.append(peer) }
    if RelayMessage.isOne(message) { owner?.heardRelay(message, from: peer) } else { receive(message, from: peer) }
    return nil
  }

  private func receive(_ message: [UInt8], from peer: Identifier) {
    guard let sender = owner?.certificate(of: peer) else { return }
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
      if case .success(let message?) = result { owner?.heard(message, from: peer) }
    }
  }
}
