// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueModel
import SegueRuntime
import SegueTransport

/// The rights that the agent's process gives up before it starts a thread: it executes nothing, gets no more rights,
/// writes only in its folders, reaches no abstract socket and no other process, and makes none of the calls by which a
/// process gets around that (A28).
public enum Confinement {
  /// The part of it that the kernel supports.
  public enum Extent {
    /// All of it.
    case full
    /// The kernel's version of Landlock is below 6: abstract sockets can be reached.
    case withoutScopes
    /// The kernel has no Landlock, or it is switched off: only `no_new_privs`, and the refused calls.
    case callsOnly
  }

  /// - Parameters:
  ///   - folders: those in which the process may go on writing; they exist.
  ///   - files: those that it may go on writing besides, and neither remove nor replace; they exist.
  ///   - readable: the folders and files that it may go on reading; those that are not there are left out. Nil: all.
  /// Throws SYSTEM if what the kernel has cannot be applied.
  public static func apply(
    writing folders: [String], _ files: [String] = [], reading readable: [String]? = nil
  ) throws(SegueError) -> Extent {
    guard linux_refuse_new_privileges() == 0 else { throw .system("no_new_privs") }
    // A kernel without seccomp, or a processor that the filter is not for, has the rest.
    if linux_refuse_calls() != 0 {
      Log.info("the kernel refuses the agent no calls: \(String(cString: strerror(linux_errno())))")
    }
    let version = linux_landlock_version()
    guard version > 0 else { return .callsOnly }
    let write = writing(version)
    let hasScopes = version >= 6
    let read = readable == nil ? 0 : UInt64(linux_landlock_read_all)
    let rules = linux_landlock_rules(
      write | read | UInt64(linux_landlock_execute), hasScopes ? UInt64(linux_landlock_scopes) : 0)
    guard rules >= 0 else { throw .system("Landlock") }
    defer { _ = close(rules) }
    for folder in folders { try allow(rules, write, folder) }
    let writeFile = UInt64(linux_landlock_write_file) | (version >= 3 ? UInt64(linux_landlock_truncate) : 0)
    for file in files { try allow(rules, writeFile, file) }
    for path in readable ?? [] where access(path, F_OK) == 0 {
      // Landlock refuses the other right for a file.
      let isFolder = access(String(joining: "\(path)/."), F_OK) == 0
      try allow(rules, isFolder ? read : UInt64(linux_landlock_read_file), path)
    }
    try allow(rules, UInt64(linux_landlock_write_file), "/dev/null")
    guard linux_landlock_confine(rules) == 0 else { throw .system("Landlock") }
    return hasScopes ? .full : .withoutScopes
  }

  /// The rights to change files, as far as a version of Landlock handles them.
  private static func writing(_ version: Int32) -> UInt64 {
    var rights =
      UInt64(linux_landlock_write_file) | UInt64(linux_landlock_remove_folder) | UInt64(linux_landlock_remove_file)
      | UInt64(linux_landlock_make_all)
    if version >= 2 { rights |= UInt64(linux_landlock_refer) }
    if version >= 3 { rights |= UInt64(linux_landlock_truncate) }
    return rights
  }

  private static func allow(_ rules: Int32, _ rights: UInt64, _ path: String) throws(SegueError) {
    let fd = linux_openat(AT_FDCWD, path, linux_o_path() | O_CLOEXEC, 0)
    guard fd >= 0 else { throw .system("Landlock: \(path)") }
    defer { _ = close(fd) }
    guard linux_landlock_allow(rules, rights, fd) == 0 else { throw .system("Landlock: \(path)") }
  }
}
