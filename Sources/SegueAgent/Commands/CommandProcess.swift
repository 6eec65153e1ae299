// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueModel
import SegueSystem
import SegueTransport

/// The process that reads the user's commands for devices, `segue-path` (R14.4): without an argument it says for which
/// devices there are some (`CommandList`); with a device it runs the command of that one (`CommandRun`). The agent
/// names nothing but the device: the program and its arguments are those of the user's file.
enum CommandProcess {
  static let name = "segue-path"

  /// - Parameter arguments: none, or the UUID of a device.
  static func run(_ arguments: [String]) -> Int32 {
    _ = linux_name_process(name)
    linux_ignore_pipe_signal()
    guard let word = arguments.first else {
      // SIGALRM ends the process: a file system may hang.
      alarm(UInt32(CommandList.time / 1_000))
      HelperProcess.write(CommandList.encode(list()))
      return 0
    }
    guard arguments.count == 1, let device = Identifier(text: word) else {
      StandardStream.error.write("\(name): expected the UUID of one device, or nothing\n")
      return 2
    }
    CommandRun(reportingTo: 1).run(command(for: device))
    return 0
  }

  private static func list() -> Result<[DeviceCommand], SegueError> {
    do throws(SegueError) { return .success(try file()?.list ?? []) } catch { return .failure(error) }
  }

  private static func command(for device: Identifier) -> Result<[String], SegueError> {
    do throws(SegueError) {
      guard let arguments = try file()?[device] else {
        return .failure(SegueError(.notFound, "paths: there is no command for \(device.fingerprint)"))
      }
      return .success(arguments)
    } catch { return .failure(error) }
  }

  /// Reads `$XDG_CONFIG_HOME/segue/paths`; nil if it is not there. Throws SYSTEM, UNSAFE_FOLDER (another user may write
  /// it, and so say what is started), MALFORMED.
  private static func file() throws(SegueError) -> CommandFile? {
    guard let folder = settingsFolder else { return nil }
    let path = String(joining: "\(folder)/segue/paths")
    let file = linux_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0)
    guard file >= 0 else {
      if linux_errno() == ENOENT || linux_errno() == ENOTDIR { return nil }
      throw .system("paths: \(path)")
    }
    defer { _ = close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .system("paths: \(path)") }
    guard linux_is_file(&status) == 1 else { throw SegueError(.unsafeFolder, "paths: \(path): is no regular file") }
    guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & 0o022 == 0 else {
      throw SegueError(.unsafeFolder, "paths: \(path): others may write it; `chmod 600` it after a look at it")
    }
    let bytes = [UInt8](unsafeUninitializedCapacity: CommandFile.sizeLimit + 1) { buffer, count in
      while count < buffer.count {
        let more = read(file, buffer.baseAddress! + count, buffer.count - count)
        guard more > 0 else { return }
        count += more
      }
    }
    let found: Result<CommandFile, SegueError> = bytes.withUnsafeBytes { bytes in
      do throws(SegueError) { return .success(try CommandFile(bytes)) } catch { return .failure(error) }
    }
    return try found.get()
  }

  private static var settingsFolder: String? {
    if let folder = Environment.variable("XDG_CONFIG_HOME"), folder.utf8.first == UInt8(ascii: "/") { return folder }
    return Environment.variable("HOME").map { String(joining: "\($0)/.config") }
  }
}
