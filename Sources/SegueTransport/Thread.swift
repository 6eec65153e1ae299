// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// A thread of the library: all signals are blocked in it, so that the host's handlers never run there.
public final class Thread {
  private var thread = pthread_t()

  private final class Body {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  public init(_ run: @escaping () -> Void) throws(SegueError) {
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    // A thread inherits the mask of its creator, so no signal can arrive in between.
    pthread_sigmask(SIG_SETMASK, &all, &before)
    let body = Unmanaged.passRetained(Body(run))
    let result = pthread_create(
      &thread, nil,
      { argument in
        Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
        return nil
      }, body.toOpaque())
    pthread_sigmask(SIG_SETMASK, &before, nil)
    guard result == 0 else {
      body.release()
      throw .system("starting a thread", result)
    }
  }

  /// Waits for the end of the thread. Call either this or `detach`, once.
  public func join() { pthread_join(thread, nil) }

  /// Lets the thread end without a join.
  public func detach() { pthread_detach(thread) }

  public var isCurrent: Bool { pthread_equal(thread, pthread_self()) != 0 }
}
