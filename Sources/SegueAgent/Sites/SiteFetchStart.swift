// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueModel
import SegueSystem

/// Starts the process that asks a site: this program under another name, so that nothing of the launcher is in its
/// memory. Only for a process with one thread.
enum SiteFetchStart {
  /// - Parameter output: where it writes its answer.
  /// - Returns: the process. Throws SYSTEM.
  static func start(_ fetch: SiteFetch, output: Int32) throws(SegueError) -> Int32 {
    let arguments = CStrings([SiteFetchProcess.name] + fetch.words)
    let process = linux_fork()
    guard process >= 0 else { throw .system("asking \(fetch.host)") }
    guard process == 0 else { return process }
    if setsid() < 0 { _exit(127) }
    linux_reset_signals()
    if linux_redirect_output(output) != 0 || linux_close_on_exec_from(3) != 0 { _exit(127) }
    _ = execve("/proc/self/exe", arguments.pointers, linux_environment())
    _exit(127)
  }
}
