// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem
import SegueTransport

/// A helper of the agent: this program under another name, so that nothing of the launcher is in its memory. It does
/// one thing, writes the answer to standard output, and ends.
enum HelperProcess {
  /// Starts a helper. Only for a process with one thread.
  /// - Parameters:
  ///   - words: its name and arguments.
  ///   - output: where it writes its answer.
  /// - Returns: the process. Throws SYSTEM.
  static func start(_ words: [String], output: Int32) throws(SegueError) -> Int32 {
    let arguments = CStrings(words)
    let process = linux_fork()
    guard process >= 0 else { throw .system("starting \(words[0])") }
    guard process == 0 else { return process }
    if setsid() < 0 { _exit(127) }
    linux_reset_signals()
    if linux_redirect_output(output) != 0 || linux_close_on_exec_from(3) != 0 { _exit(127) }
    _ = execve("/proc/self/exe", arguments.pointers, linux_environment())
    _exit(127)
  }

  /// Everything that the look-up of a name and the check of a certificate read: no file of the user.
  static var readable: [String] {
    [
      "/etc", "/usr", "/lib", "/lib64", "/nix/store", "/gnu/store", "/var/lib/ca-certificates", "/run/systemd/resolve",
      "/run/resolvconf", "/run/NetworkManager", "/run/nscd", "/var/run/nscd",
    ]
  }

  /// Writes to standard output, unless its reader is gone.
  static func write(_ bytes: [UInt8]) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { CLinux.write(1, $0.baseAddress! + written, $0.count - written) }
      if count < 0, linux_errno() == EINTR { continue }
      guard count > 0 else { return }
      written += count
    }
  }
}
