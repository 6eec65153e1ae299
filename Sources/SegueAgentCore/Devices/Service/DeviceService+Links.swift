// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

extension DeviceService: DeviceLinksOwner {
  public func linkHasMoved(with device: Identifier, hasEnded: Bool) {
    if hasEnded { messages?.linkChanged(device) }
    relays.linksChanged()
    publish()
  }

  public var linkInvites: [Invite] { snapshot.invites }
  public func linkIsJoin(_ connection: DeviceConnection) { joins.accept(connection) }

  public func heardUnlisted(
    _ message: [UInt8], from shown: PeerCertificate, _ judged: @escaping () -> Void
  ) {
    account.perform(
      size: message.count,
      { account, now in
        account.take(shown)
        return account.receive(message, from: shown.encoding, at: now)
      }, judged)
  }

  public func unlistedWasTurnedAway(_ shown: PeerCertificate) {
    account.perform({ account, now in account.refuse(shown.encoding, at: now) })
  }
}

extension DeviceService: AccountJoinsOwner {
  public func joinsHaveChanged() { publish() }

  public func joinWasRefused(_ error: SegueError) {
    notices.add(error, of: .unlisted)
    publish()
  }

  public func hasJoined(at address: NetworkAddress) { links?.noteAddress(address) }
}
