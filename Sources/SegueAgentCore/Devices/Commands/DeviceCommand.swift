// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A command of the user that leads to a device (R14.4), as the agent knows it: not its words.
public struct DeviceCommand: Equatable, Sendable {
  public let device: Identifier
  /// Another number for other words.
  public let version: UInt64

  public init(_ device: Identifier, version: UInt64) { (self.device, self.version) = (device, version) }

  /// - Parameter arguments: the words of the command.
  init(_ device: Identifier, _ arguments: [String]) {
    var text: [UInt8] = []
    for each in arguments { text += Text.bytes(each) + [0] }
    self.init(device, version: Self.number(SecureHash.sha256(text)[..<8]))
  }

  /// Bytes of its encoding: the identifier, then the version.
  static let size = 24
  var encoding: [UInt8] {
    device.bytes + stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: version >> UInt64($0)) }
  }

  /// Nil unless these are `size` bytes.
  init?(_ encoding: ArraySlice<UInt8>) {
    guard encoding.count == Self.size, let device = Identifier(bytes: encoding.prefix(16)) else { return nil }
    self.init(device, version: Self.number(encoding.dropFirst(16)))
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

extension Result where Success == [DeviceCommand], Failure == SegueError {
  /// The devices that have a command; none if they could not be read.
  var list: [DeviceCommand] { if case .success(let commands) = self { commands } else { [] } }
  /// Why they could not be read; nil: they were.
  var problem: SegueError? { if case .failure(let error) = self { error } else { nil } }
}
