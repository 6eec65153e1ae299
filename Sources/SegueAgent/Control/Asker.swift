import SegueEngine

/// A connection to the control socket, as those know it of whom it asks something.
struct Asker {
  /// Never used again.
  let number: UInt64
  /// Of its process.
  let account: Account
}
