// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// A path from this device to another one, or, of a connection that the other end has made, from there to here.
public enum LinkPath: Equatable, Sendable {
  /// TCP (R14.2).
  case address(NetworkAddress)
  /// The command that the user has set for the device to which it leads (R14.4): the agent there speaks through its
  /// standard input and output. Another command of the user's has another version; 0 for one of the other end.
  case command(Identifier, version: UInt64 = 0)
  /// Through another device of the account.
  case relay(through: Identifier, to: Identifier)

  /// Milliseconds from the beginning of an attempt until it must be a link: a command has to begin, to find its server
  /// and to authenticate before the knock.
  var time: Int64 {
    switch self {
    case .address: HalfOpenTable.time
    case .command: 30_000
    case .relay: 10_000
    }
  }

  /// Nil unless it is one.
  public var address: NetworkAddress? { if case .address(let address) = self { address } else { nil } }

  /// The device that has to be at the other end of an attempt; nil: any of the account.
  var device: Identifier? {
    switch self {
    case .address: nil
    case .command(let device, version: _), .relay(through: _, to: let device): device
    }
  }

  /// The machine from which a connection has come, for quotas: all commands of this machine count as one.
  var source: [UInt8] {
    switch self {
    case .address(let address): address.bytes
    case .command: Self.commandSource
    case .relay(through: let device, to: _): device.bytes
    }
  }

  /// The part that the sources of one network have in common.
  var prefix: [UInt8] { address?.prefix ?? source }

  /// An address that no machine has: the first one of those that are discarded (RFC 6666).
  private static let commandSource = [1] + [UInt8](repeating: 0, count: 15)

  /// As logs and users read it.
  public var text: String {
    switch self {
    case .address(let address): address.text
    case .command: "the end of a command"
    case .relay(through: let device, to: _): String(joining: "a relay, \(device.fingerprint)")
    }
  }

  /// As a report has it.
  var name: String {
    switch self {
    case .address(let address): address.text
    case .command: "command"
    case .relay: "relay"
    }
  }

  /// Whether it may lead to another device than this one, so that it was not made from there.
  func isOfOther(than own: Identifier) -> Bool { device != own }

  /// The same without its port.
  var host: String { address?.host ?? text }
}
