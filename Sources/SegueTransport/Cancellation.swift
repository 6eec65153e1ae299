import CLinux

/// Disables `pthread_cancel` in a thread: a thread that ends inside the library would keep its locks.
public enum Cancellation {
  /// - Returns: the argument for `restore`; calls nest.
  @inline(never)
  public static func disable() -> Int32 {
    var former: Int32 = 0
    pthread_setcancelstate(linux_cancel_disable(), &former)
    return former
  }

  public static func restore(_ former: Int32) { pthread_setcancelstate(former, nil) }
}
