// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The user's commands that lead to devices (R14.4), from `$XDG_CONFIG_HOME/segue/paths`. The agent reads none of them:
/// it names a device, and the process that the launcher starts for it reads the file.
public struct CommandFile {
  /// Bytes of the file, and of one argument.
  public static let sizeLimit = 64 * 1024
  private static let argumentSize = 4_096
  /// The most arguments of a command, the program among them.
  private static let argumentLimit = 64

  private var commands: [(device: Identifier, arguments: [String])] = []

  /// - Parameter file: JSON: {"DEVICE": ["PROGRAM", "ARGUMENT"…]}, with UUIDs of devices.
  /// Throws MALFORMED, which says what is wrong.
  public init(_ file: UnsafeRawBufferPointer) throws(SegueError) {
    guard file.count <= Self.sizeLimit else { throw Self.wrong("more than \(Self.sizeLimit) bytes") }
    let value: Value
    do throws(SegueError) { value = try Value(json: file, .plain) } catch { throw Self.wrong("\(error.message)") }
    guard value.kind == .dictionary else { throw Self.wrong("is no JSON object") }
    for entry in value.entries ?? [] {
      let key = entry.key.string ?? ""
      guard let device = Identifier(text: key) else {
        throw Self.wrong("'\(key)' is no UUID of a device")
      }
      guard self[device] == nil, commands.count < Limits.devices else {
        throw Self.wrong("\(key): stands there twice, or beyond \(Limits.devices) devices")
      }
      commands.append((device, try Self.arguments(entry.value, of: key)))
    }
  }

  private static func arguments(_ value: Value, of key: String) throws(SegueError) -> [String] {
    guard let elements = value.elements, !elements.isEmpty, elements.count <= argumentLimit else {
      throw wrong("\(key): must be an array of 1 to \(argumentLimit) texts")
    }
    var arguments: [String] = []
    for element in elements {
      guard let text = element.string, Text.size(text) <= argumentSize, !Text.has(text, 0) else {
        throw wrong("\(key): an argument must be a text of at most \(argumentSize) bytes, without NUL")
      }
      arguments.append(text)
    }
    guard Text.size(arguments[0]) > 0 else { throw wrong("\(key): names no program") }
    return arguments
  }

  private static func wrong(_ what: DiagnosticText) -> SegueError { SegueError(.malformed, "paths: \(what)") }

  /// The commands without their words.
  public var list: [DeviceCommand] { commands.map { DeviceCommand($0.device, $0.arguments) } }
  /// The arguments of the command for a device, its program first; nil: there is none.
  public subscript(device: Identifier) -> [String]? { commands.first { $0.device == device }?.arguments }
}
