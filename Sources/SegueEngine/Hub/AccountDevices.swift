// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The devices of the user's account, as this one knows them, with what the account calls them (R10.1).
public struct AccountDevices {
  public typealias Named = (device: Identifier, name: String)

  /// This device.
  public let own: Identifier
  /// All of them, this one too.
  public let all: [Named]

  public init(own: Identifier, all: [Named]) {
    self.own = own
    self.all = all
  }

  var hasOthers: Bool { all.contains { $0.device != own } }
  /// The name of this device in the account; nil if it is not among the devices.
  var ownName: String? { name(of: own) }

  func name(of device: Identifier) -> String? { all.first { $0.device == device }?.name }
}
