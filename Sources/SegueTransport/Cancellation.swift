import CLinux

/// Keeps `pthread_cancel` from a thread: one that ended inside the library would take its locks along.
public enum Cancellation {
  /// - Returns: what `restore` is to be given; they nest.
  @inline(never)
  public static func disable() -> Int32 {
    var former: Int32 = 0
    pthread_setcancelstate(linux_cancel_disable(), &former)
    return former
  }

  public static func restore(_ former: Int32) { pthread_setcancelstate(former, nil) }
}
