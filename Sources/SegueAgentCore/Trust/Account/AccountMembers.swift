// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The devices that belong to an account, as one roster lists them: a device that shows a certificate has to be among
/// them. The certificate alone does not say that: each holder of the key of the account makes certificates.
public struct AccountMembers: Sendable {
  /// The relation of a device to the account.
  public enum Standing: Sendable {
    case listed
    /// Not in the list: it gets no session. A roster that it brings may list it, if it counts.
    case unlisted
    /// It was revoked.
    case removed
  }

  private let listed, removed: [Identifier]

  /// - Parameters:
  ///   - listed: the devices of the account.
  ///   - removed: those that were revoked.
  public init(listed: [Identifier], removed: [Identifier] = []) {
    self.listed = listed
    self.removed = removed
  }

  public func standing(of device: Identifier) -> Standing {
    if removed.contains(device) { return .removed }
    return listed.contains(device) ? .listed : .unlisted
  }
}
