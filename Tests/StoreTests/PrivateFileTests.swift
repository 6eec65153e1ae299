// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueSystem
import Testing

/// Files of an agent that an unusual umask has closed to their own user.
@Suite struct PrivateFileTests {
  private let folder = TemporaryFolder()

  /// Calls a function as a user whom the modes of files concern. Root, as whom tests may run, is another one meanwhile:
  /// for files, on this thread.
  private func asPlainUser<Result>(_ body: () throws -> Result) throws -> Result {
    guard geteuid() == 0 else { return try body() }
    let nobody: uid_t = 65_534
    let symbol = try #require(dlsym(nil, "setfsuid"))
    let setUser = unsafeBitCast(symbol, to: (@convention(c) (uid_t) -> Int32).self)
    #expect(chown(folder.path, nobody, nobody) == 0)
    _ = setUser(nobody)
    defer { _ = setUser(0) }
    return try body()
  }

  /// Makes a file that its user may not open.
  private func closedFile() -> String {
    let path = folder.path + "/lock"
    let fd = open(path, O_CREAT | O_WRONLY, 0)
    #expect(fd >= 0 && close(fd) == 0 && chmod(path, 0) == 0)
    return path
  }

  private func mode(_ path: String) -> mode_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
  }

  @Test(arguments: [O_RDONLY, O_RDWR, O_RDWR | O_CREAT])
  func `a file that is closed to its user is opened, and stays open to it alone`(flags: Int32) throws {
    try asPlainUser {
      let path = closedFile()
      #expect(open(path, flags, 0o600) == -1 && errno == EACCES)
      let fd = PrivateFile.open(AT_FDCWD, path, flags)
      #expect(fd >= 0 && close(fd) == 0 && mode(path) == 0o600)
    }
  }

  @Test func `a file of another user is refused, and stays as it is`() throws {
    let path = closedFile()
    let (result, number) = try asPlainUser { (PrivateFile.open(AT_FDCWD, path, O_RDWR), errno) }
    // Without root there is no file of another user: this one is ours, and opened.
    #expect(geteuid() != 0 || result == -1 && number == EPERM && mode(path) == 0)
    if result >= 0 { close(result) }
  }
}
