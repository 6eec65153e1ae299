// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport

/// The causes that end the agent: SIGTERM and SIGINT, or the loop.
final class EndingSignals {
  private let lock = Lock()
  /// Guarded by `lock`.
  private var cause: DiagnosticText?

  /// The error that ends the agent; nil if a signal from outside does.
  var failure: DiagnosticText? { lock.withLock { cause } }

  /// Blocks the signals in this thread, and in those that it starts: they wait for `wait`.
  func block() {
    var set = self.set
    pthread_sigmask(SIG_BLOCK, &set, nil)
    // A reader of standard error that is gone is no reason to end.
    linux_ignore_pipe_signal()
  }

  /// Waits for the end, and returns its cause.
  func wait() -> DiagnosticText {
    var set = self.set
    var signal: Int32 = 0
    while sigwait(&set, &signal) != 0 {}
    return failure ?? (signal == SIGINT ? "SIGINT" : "SIGTERM")
  }

  /// Ends the agent with an error. From any thread.
  func end(because cause: DiagnosticText) {
    lock.withLock { self.cause = self.cause ?? cause }
    kill(getpid(), SIGTERM)
  }

  private var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGTERM)
    sigaddset(&set, SIGINT)
    return set
  }
}
