// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The output of the process that reads which devices have a command (R14.4): `+`, the 24 bytes of each
/// (`DeviceCommand`), and a line feed; or `!`, a reason and a line feed.
public enum CommandList {
  /// Bytes of all of it.
  public static let sizeLimit = 2 + Limits.devices * DeviceCommand.size
  /// Milliseconds until the process is killed.
  public static let time: Int64 = 5_000
  private static let (found, refused, end) = (UInt8(ascii: "+"), UInt8(ascii: "!"), UInt8(ascii: "\n"))

  public static func encode(_ result: Result<[DeviceCommand], SegueError>) -> [UInt8] {
    switch result {
    case .success(let commands): [found] + commands.prefix(Limits.devices).flatMap { $0.encoding } + [end]
    case .failure(let error): [refused] + Text.oneLine(Text.start(of: error.message, atMost: 512)) + [end]
    }
  }

  /// Reads the output; all that is not whole is an error.
  public static func decode(_ bytes: [UInt8]) -> Result<[DeviceCommand], SegueError> {
    guard bytes.count >= 2, bytes.count <= sizeLimit, bytes.last == end else {
      return .failure(SegueError(.system, "paths: they were not read within \(time / 1_000) s"))
    }
    let content = bytes[1..<(bytes.count - 1)]
    guard bytes[0] == found else {
      let reason = Text.decoded(Text.oneLine(Text.decoded(Array(content))))
      return .failure(SegueError(.malformed, "\(reason)"))
    }
    guard content.count % DeviceCommand.size == 0 else {
      return .failure(SegueError(.system, "paths: the list of devices is damaged"))
    }
    var commands: [DeviceCommand] = []
    for start in stride(from: content.startIndex, to: content.endIndex, by: DeviceCommand.size) {
      if let command = DeviceCommand(content[start..<(start + DeviceCommand.size)]),
        !commands.contains(where: { $0.device == command.device })
      {
        commands.append(command)
      }
    }
    return .success(commands)
  }
}
