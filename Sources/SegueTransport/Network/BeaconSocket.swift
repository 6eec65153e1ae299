// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// Sends and hears datagrams of one multicast group, on all networks of this device that can.
public final class BeaconSocket {
  /// Bytes of the longest datagram that is looked at.
  private static let size = 64
  /// Datagrams that are read in a turn.
  private static let readsInTurn = 64
  /// Port of both groups.
  private static let port: UInt16 = 47_470

  /// Local to a network: administratively scoped (RFC 2365), and link-local with a group number that is not assigned
  /// permanently (RFC 3307 §4.3).
  public static let groups = ["239.255.47.47", "ff12::8000:5e9e"]

  private let group: linux_address
  private let fd: Int32
  /// Nil before `start` and after `close`.
  private var started: (watch: Watch, heard: ([UInt8], NetworkAddress) -> Void)?
  /// Interfaces on which the group is heard.
  private var joined: [UInt32] = []

  /// Throws SYSTEM if this device has not that protocol.
  public convenience init(_ group: String) throws(SegueError) {
    var address = linux_address()
    guard linux_numeric_address(group, &address) == 1 else {
      throw SegueError(.invalidArgument, "\(group): is no address")
    }
    address.port = Self.port
    let fd = linux_multicast_socket(&address)
    guard fd >= 0 else { throw .system("multicast to \(group)") }
    self.init(address, Descriptors.own(fd))
  }

  private init(_ group: linux_address, _ fd: Int32) {
    self.group = group
    self.fd = fd
  }

  deinit { Descriptors.close(fd) }

  /// Starts to hear datagrams, until `close`. Passes the first bytes of each, and who sent it.
  public func start(on loop: Loop, _ heard: @escaping ([UInt8], NetworkAddress) -> Void) throws(SegueError) {
    started = (try Watch(fd, on: loop, for: self), heard)
  }

  /// Hears the group on these interfaces, too.
  public func join(_ interfaces: [NetworkInterface]) {
    let usable = Self.usable(interfaces, self)
    joined.removeAll { !usable.contains($0) }
    var group = group
    for index in usable where !joined.contains(index) {
      // One that has gone and come back is joined anew; one that the system kept is in use, which is as good.
      if linux_join(fd, &group, index) == 0 || linux_errno() == EADDRINUSE { joined.append(index) }
    }
  }

  /// Sends a datagram on each interface that has the group. A datagram that the system refuses is lost, as on the way.
  public func send(_ bytes: [UInt8]) {
    var group = group
    for index in joined { _ = linux_send_to_group(fd, &group, index, bytes, bytes.count) }
  }

  private static func usable(_ interfaces: [NetworkInterface], _ socket: BeaconSocket) -> [UInt32] {
    var group = socket.group
    let isV4 = linux_is_v4(&group)
    var usable: [UInt32] = []
    for interface in interfaces where interface.canMulticast && !usable.contains(interface.index) {
      var address = interface.address.system
      if linux_is_v4(&address) == isV4 { usable.append(interface.index) }
    }
    return usable
  }

  public func close() {
    started?.watch.close()
    started = nil
  }
}

extension BeaconSocket: WatchOwner {
  public func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) {
    var group = group
    for _ in 0..<Self.readsInTurn {
      var address = linux_address()
      var count = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: Self.size) { buffer, filled in
        count = linux_receive_from(fd, &group, buffer.baseAddress, Self.size, &address)
        filled = max(0, min(count, Self.size))
      }
      guard count >= 0 else { return }
      // A longer one was cut: its length says that it is none of ours. An empty one was perhaps sent elsewhere.
      if count > 0, count <= Self.size { started?.heard(bytes, NetworkAddress(address)) }
    }
  }
}
