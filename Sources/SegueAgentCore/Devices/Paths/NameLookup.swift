// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The end of the look-up of a name (R14.2).
public enum NameLookup: Sendable {
  /// Addresses without ports, at least one, in the order in which the system would try them (RFC 6724).
  case addresses([NetworkAddress])
  /// No address, for this reason.
  case failed(String)

  /// The most addresses of one name.
  public static let addressLimit = 16
  /// Milliseconds until the process that looks a name up is killed.
  public static let time: Int64 = 5_000
  /// The look-ups at a time.
  public static let limit = 4
}

/// Looks names up. The product has a process for each look-up, the fleet simulated names.
public protocol NameResolver: AnyObject {
  /// - Parameter done: called once, in a later turn, unless the agent ends before.
  func resolve(_ name: DeviceHostName, _ done: @escaping (NameLookup) -> Void)
}

/// The output of the process that looks a name up: an address in each line; or, in one line, `!` and a reason.
public enum NameLookupOutput {
  /// Bytes of a line.
  private static let lineLimit = 256
  /// Bytes of all of it.
  public static let sizeLimit = NameLookup.addressLimit * lineLimit
  private static let mark = UInt8(ascii: "!")
  private static let end = UInt8(ascii: "\n")

  public static func encode(_ lookup: NameLookup) -> [UInt8] {
    switch lookup {
    case .addresses(let addresses):
      var bytes: [UInt8] = []
      for address in addresses.prefix(NameLookup.addressLimit) { bytes += Text.bytes(address.host) + [end] }
      return bytes
    case .failed(let reason): return [mark] + Text.oneLine(Text.start(of: reason, atMost: lineLimit / 2)) + [end]
    }
  }

  /// Reads the output. A line that is no address of one machine is left out, and so is what follows the sixteenth: the
  /// process reads what comes from the network, and may have become another's.
  public static func decode(_ bytes: [UInt8], of name: DeviceHostName) -> NameLookup {
    guard !bytes.isEmpty, bytes.count <= sizeLimit, bytes.last == end else {
      return .failed(String(joining: "\(name.text): nothing was found within \(time / 1_000) s"))
    }
    var addresses: [NetworkAddress] = []
    for line in bytes.split(separator: end) where addresses.count < NameLookup.addressLimit {
      if line.first == mark {
        return .failed(Text.decoded(Text.oneLine(Text.decoded(Array(line.dropFirst().prefix(lineLimit))))))
      }
      guard line.count <= lineLimit, !line.contains(0),
        let address = try? NetworkAddress.read(host: Text.decoded(Array(line)), port: 1), !addresses.contains(address)
      else { continue }
      addresses.append(address)
    }
    return usable(addresses, of: name)
  }

  private static var time: Int64 { NameLookup.time }

  /// A name that leads to this machine itself is a mistake of a file or a server of names, unless that is its meaning.
  /// A link-local address of IPv6 without its interface leads nowhere.
  static func usable(_ addresses: [NetworkAddress], of name: DeviceHostName) -> NameLookup {
    guard !addresses.isEmpty else { return .failed(String(joining: "\(name.text): has no address")) }
    let others = addresses.filter { name.isLocalhost || !$0.isLoopback }
    guard !others.isEmpty else { return .failed(String(joining: "\(name.text): leads to this device itself")) }
    let known = others.filter { $0.isIPv4 || !$0.isLinkLocal || $0.system.scope != 0 }
    guard !known.isEmpty else {
      return .failed(String(joining: "\(name.text): has a link-local address alone, and no interface for it"))
    }
    return .addresses(known)
  }
}
