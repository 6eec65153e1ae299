// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The owner of the links of a device, which is told of their events. For one thread.
public protocol DeviceLinksOwner: AnyObject {
  /// A device is linked (true), or no longer.
  /// - Parameter heardAt: the uptime at which it was last heard.
  func linkHasChanged(with device: Identifier, _ isLinked: Bool, heardAt: Int64)
  /// Another connection with a linked device has taken the place of the former one.
  /// - Parameter hasEnded: whether that has ended: then the session of the hubs is about to resume, or to begin anew.
  func linkHasMoved(with device: Identifier, hasEnded: Bool)
  /// This device has another network or address, or has woken up.
  func networkHasChanged()
  /// This device has dialled a device that is linked now, at this address.
  func linkWasDialled(to device: Identifier, at address: NetworkAddress)
  /// Two machines are one device, because a state folder was copied: this one, or another.
  func linksFoundCopy(of device: Identifier, _ path: LinkPath)
  /// A genuine beacon is of another time, in seconds since 1970.
  func linksHeardOtherTime(_ date: Double)
  /// A device has refused the certificate of this one as revoked; nil: one that has not shown its own.
  func linkWasRefused(by device: Identifier?)
  /// The invites with which devices may join now.
  var linkInvites: [Invite] { get }
  /// A device joins over a connection, TLS being up; the owner owns the connection from then on.
  func linkIsJoin(_ connection: DeviceConnection)
  /// The first message to a device that is not listed: it says which roster this one has; nil without an account.
  var greeting: [UInt8]? { get }
  /// A device that is not listed says something about the account.
  /// - Parameters:
  ///   - shown: its certificate.
  ///   - judged: the owner calls it once the account has judged the message.
  func heardUnlisted(_ message: [UInt8], from shown: PeerCertificate, _ judged: @escaping () -> Void)
  /// The connection with a device that is not listed has ended.
  func unlistedWasTurnedAway(_ shown: PeerCertificate)
}
