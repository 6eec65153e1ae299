import SegueModel

/// Which devices belong to an account, as one roster has it: a device that shows a certificate has to be among them.
/// The certificate alone does not say that: a manager that was restored from a backup, or that has slept, revokes a
/// device without knowing all of its certificates.
public struct AccountMembers: Sendable {
  private let listed, removed: [Identifier]
  /// When the roster was signed, by the manager's clock; later if that clock was ahead once.
  private let number: UInt64

  /// - Parameters:
  ///   - listed: the devices of the account.
  ///   - removed: those that were revoked.
  ///   - number: of the roster.
  public init(listed: [Identifier], removed: [Identifier], number: UInt64) {
    self.listed = listed
    self.removed = removed
    self.number = number
  }

  /// Whether a device belongs to the account. One that is not listed does if it was admitted after the roster was
  /// signed: then it brings a newer one.
  /// - Parameter from: the date at which its certificate begins.
  public func has(_ device: Identifier, from: Int64) -> Bool {
    if listed.contains(device) { return true }
    guard !removed.contains(device), let issued = UInt64(exactly: from) else { return false }
    return issued + UInt64(Limits.clockTolerance) > number
  }
}
