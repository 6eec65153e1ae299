import SegueEngine

/// A connection to the control socket, as the services that it asks know it.
struct Asker {
  /// Never used again.
  let number: UInt64
  /// The account to which the use of its process is charged.
  let account: Account
}
