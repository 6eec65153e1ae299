// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

extension DeviceService: DeviceLinksOwner {
  public func linkHasChanged(with device: Identifier, _ isLinked: Bool, heardAt: Int64) {
    linkChanged(device, isLinked, heardAt: heardAt)
  }

  public func linkHasMoved(with device: Identifier, hasEnded: Bool) {
    if hasEnded { messages?.linkChanged(device) }
    relays.linksChanged()
    publish()
  }

  public func linksHaveAnotherNetwork() { networkChanged() }
  public func linkWasDialled(to device: Identifier, at address: NetworkAddress) { reached(device, at: address) }
  public func linksFoundCopy(of device: Identifier, _ path: LinkPath) { isCopied(device, path) }
  public func linksHeardOtherTime(_ date: Double) { heardOtherTime(date) }
  public func linkWasRefused(by device: Identifier?) { noteRemoval(by: device) }

  public var linkInvites: [Invite] { snapshot.invites }
  public func linkIsJoin(_ connection: DeviceConnection) { joins.accept(connection) }

  public var linkGreeting: [UInt8]? { snapshot.greeting(at: environment.now) }

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
