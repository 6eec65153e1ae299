/// A descriptor that goes, or has come, with a message. Its owner derives from it what the descriptor is to the system, which
/// closes it when nobody refers to it any more.
open class PassedDescriptor {
  /// One came, but this process may open no more: the system has closed it.
  public let isLost: Bool

  public init(isLost: Bool = false) { self.isLost = isLost }
}
