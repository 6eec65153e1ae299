// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem
import SegueWire

/// A connection on which a device joins, at either end, once TLS is up. For one thread.
final class JoinConnection {
  /// Bytes that are read at a time.
  private static let readSize = 16 * 1024

  let invite: Invite
  /// The keying material that both ends of TLS have alone.
  let exporter: [UInt8]
  /// The address of the other device.
  var path: LinkPath { connection.path }
  /// The account's number for it; nil before it has begun.
  private(set) var number: UInt64?

  private let connection: DeviceConnection
  /// The owner of this connection, which ends it before it lets go of it.
  private let joins: AccountJoins
  private var output: [UInt8] = []
  private var isReading = false
  /// Whether the other end has closed it after its last bytes, which are still being handled.
  private var hasEnded = false
  private var isOver = false

  /// Takes over the connection, also if this throws. Nothing is read before `begin`. Throws SYSTEM.
  convenience init(_ connection: DeviceConnection, of joins: AccountJoins) throws(SegueError) {
    connection.owner = joins
    do throws(SegueError) {
      guard let invite = connection.invite else {
        throw SegueError(.invalidState, "a connection on which nothing joins")
      }
      self.init(connection, invite, try connection.exporter(Invite.exporterLabel), joins)
    } catch {
      connection.terminate()
      throw error
    }
    // The connection keeps this object until `detach`.
    connection.attach(0) { [self] isReadable in ready(isReadable) }
    connection.watch(reading: false, writing: false)
    // Users may take minutes to compare the digits.
    connection.probe()
  }

  private init(_ connection: DeviceConnection, _ invite: Invite, _ exporter: [UInt8], _ joins: AccountJoins) {
    self.connection = connection
    self.invite = invite
    self.exporter = exporter
    self.joins = joins
  }

  /// Starts to read.
  /// - Parameter number: of the join, from the account.
  func begin(as number: UInt64) {
    self.number = number
    goOn()
    connection.passOn()
  }

  /// Reads on.
  func goOn() {
    isReading = true
    if hasEnded { finish() } else { pump() }
  }

  /// Sends bytes, now or when there is room.
  func send(_ bytes: [UInt8]) {
    output += bytes
    pump()
  }

  /// Sends what there is, and closes it.
  func end() {
    guard !isOver else { return }
    pump()
    detach()
    connection.close()
  }

  private func ready(_ isReadable: Bool) {
    guard !isOver else { return }
    if isReadable { read() } else { pump() }
  }

  /// Ends the use of the connection, which then lets go of this object.
  private func detach() {
    isOver = true
    connection.attach(0) { _ in }
  }

  private func read() {
    guard isReading else { return }
    var bytes: [UInt8] = []
    let result = connection.read(atMost: Self.readSize) { new, _ in bytes += new }
    if !bytes.isEmpty {
      isReading = false
      hasEnded = result == .closed
      pump()
      joins.received(bytes, over: self)
    } else if result == .closed {
      finish()
    }
  }

  /// The other end has closed it, and all that it has said was handled.
  private func finish() {
    guard !isOver else { return }
    detach()
    connection.terminate()
    joins.closed(self)
  }

  private func pump() {
    guard !isOver else { return }
    // Nobody reads any longer.
    guard !hasEnded else { return connection.watch(reading: false, writing: false) }
    if !output.isEmpty, case .bytes(let count) = output.withUnsafeBytes({ connection.write($0, nil) }) {
      output.removeFirst(count)
    }
    connection.watch(reading: isReading, writing: !output.isEmpty)
  }
}
