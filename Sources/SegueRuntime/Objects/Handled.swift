/// An object that other languages can hold by a handle.
open class Handled {
  /// The handle table's word for it, which it alone reads and writes; 0: it has none.
  public final var ticket: UInt = 0

  public init() {}

  /// The last handle is gone. Runs outside of all locks.
  open func lastHandleReleased() {}
}
