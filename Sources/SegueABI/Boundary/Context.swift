import CSegue

/// A host's context: destroyed once, when nothing holds it any more.
final class Context {
  let pointer: UnsafeMutableRawPointer?
  private let destroy: segue_destroy?

  init(_ pointer: UnsafeMutableRawPointer?, _ destroy: segue_destroy?) {
    self.pointer = pointer
    self.destroy = destroy
  }

  deinit { destroy?(pointer) }
}
