import CSegue

/// A host's context: destroyed exactly once, when the last reference is gone.
final class Context {
  let pointer: UnsafeMutableRawPointer?
  private let destroy: segue_destroy?

  init(_ pointer: UnsafeMutableRawPointer?, _ destroy: segue_destroy?) {
    self.pointer = pointer
    self.destroy = destroy
  }

  deinit { destroy?(pointer) }
}
