// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The events of the account, and the messages of its devices.
extension DeviceService: AccountClientOwner {
  func used(_ account: AccountSnapshot, _ events: [AccountEvent]) {
    let former = snapshot.devices
    snapshot = account
    retention.take(account)
    // First: no command is started for a device that was just revoked.
    if !commands.list.isEmpty, !events.isEmpty { links?.setPaths(paths) }
    for event in events { handle(event) }
    if !events.isEmpty {
      forgetOthers()
      setMailbox()
    }
    align()
    nameDevices(after: former)
    publish()
  }

  private func handle(_ event: AccountEvent) {
    switch event {
    case .membershipChanged:
      problems.copy = DeviceCopy()
      hub.endLinks(of: nil, SegueError(.connectionUnavailable, "the other device has left the account"))
      closeLinks()
      align()
      problems.removal = nil
    case .cut(let peer):
      // It may be in the account all the same: its certificate is not valid now.
      if !snapshot.devices.contains(where: { $0.id == peer }), let told = try? DeviceMessage.removed.encoding() {
        hub.sendAccount(told, to: peer)
      }
      hub.endLinks(of: peer, SegueError(.notAllowed, "this device was removed from the account"))
    case .credentialsChanged: renewLinks()
    // A new epoch comes with new revocations: `credentialsChanged` has passed on both.
    case .devicesChanged:
      links?.setDevices(snapshot.devices.map { $0.id })
      relays.linksChanged()
      // A command leads to a device of the account, or is none.
      if !commands.list.isEmpty { links?.setPaths(paths) }
    case .send(let peer, let message): messages?.send(message, to: peer)
    case .sendToAll(let except, let message):
      for peer in links?.devices ?? [] where peer != except { messages?.send(message, to: peer) }
    case .notice(let error, let source): notices.add(error, of: source)
    case .joinSend, .joinAsks, .joinShows: joins.handle(event)
    case .joinEnded(_, let error):
      if let error { notices.add(error, of: .unlisted) }
      joins.handle(event)
    }
  }

  /// Tells the hub the devices of the account, if they are others, or have other names.
  private func nameDevices(after former: [DeviceDescription]) {
    let found = snapshot.devices
    guard !found.elementsEqual(former, by: { $0.id == $1.id && Text.isSame($0.name, $1.name) }) else { return }
    let names = found.map { (device: $0.id, name: $0.name) }
    relays.names = names
    let own = found.first { $0.isThisDevice }?.id
    hub.setDevices(own.map { AccountDevices(own: $0, all: names) })
  }
}

extension DeviceService: AccountMessagesOwner {
  func certificate(of device: Identifier) -> PeerCertificate? { links?.certificate(of: device) }
  public var greeting: [UInt8]? { snapshot.greeting(at: environment.now) }

  func heardRelay(_ message: [UInt8], from device: Identifier) { relays.heard(message, from: device) }
  func sessionBegan(with device: Identifier) { relays.began(device) }
}
