// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// A connection with a device that shows a certificate of the account, and that the roster does not list
/// (docs/trust.md, "Devices that are not listed"). It tells which roster this device has, and takes rosters; what the
/// other hub says meanwhile is held. It becomes a link if a roster that counts lists the device. For one thread.
final class ProvisionalLink {
  /// Milliseconds until it ends, and how much longer while a roster is being stored.
  static let time: Int64 = 5_000
  static let storeTime: Int64 = 1_000
  /// Milliseconds after which it ends, however many rosters are being stored.
  static let longest: Int64 = 30_000
  /// Those at a time.
  static let limit = 8
  /// Bytes that are read at a time; rosters that wait for the account's thread.
  private static let readSize = 16 * 1024
  private static let messageLimit = 4

  let connection: DeviceConnection
  /// The certificate that the device has shown.
  let shown: PeerCertificate
  /// Rosters that the account's thread has yet to judge.
  private(set) var waiting = 0
  /// The uptime since which one has waited.
  private var waitingSince: Int64 = 0
  /// The uptime at which it ends.
  let endsAt: Int64
  private var stream = ProvisionalStream()
  /// The links, which let go of this object when it ends.
  private let links: DeviceLinks
  private var isOver = false

  init(_ connection: DeviceConnection, _ shown: PeerCertificate, of links: DeviceLinks, at uptime: Int64) {
    (self.connection, self.shown, self.links) = (connection, shown, links)
    endsAt = uptime + Self.longest
  }

  /// - Parameter greeting: tells the other device which roster this one has.
  func begin(_ greeting: [UInt8]) {
    // `close` and `release` end that.
    connection.attach(0) { [self] isReadable in if isReadable { read() } }
    connection.watch(reading: true, writing: false)
    do throws(SegueError) {
      let frame = try ProvisionalStream.frame(greeting)
      // It is the first thing that is said, so that there is room.
      guard case .bytes(frame.count) = frame.withUnsafeBytes({ connection.write($0, nil) }) else {
        throw SegueError(.connectionUnavailable, "the other end does not read")
      }
    } catch { return end(error) }
    connection.passOn()
  }

  /// The account's thread is to judge a roster.
  func waits(at uptime: Int64) {
    if waiting == 0 { waitingSince = uptime }
    waiting += 1
  }

  /// The account has judged a roster.
  /// - Returns: the milliseconds of waiting that have ended with it; 0 while others wait.
  func judged(at uptime: Int64) -> Int64 {
    waiting -= 1
    return waiting == 0 ? min(uptime, endsAt) - waitingSince : 0
  }

  /// The connection has ended, or will.
  func close() {
    isOver = true
    connection.attach(0) { _ in }
  }

  /// It becomes a link: what the other hub has said so far is read again.
  func release() {
    close()
    connection.giveBack(stream.takeHeld())
  }

  private func read() {
    var result = ByteRead.full
    for _ in 0...(ProvisionalStream.limit / Self.readSize) where !isOver && result == .full {
      var bytes: [UInt8] = []
      result = connection.read(atMost: Self.readSize) { new, _ in bytes += new }
      if !bytes.isEmpty { take(bytes) }
    }
    guard result == .closed, !isOver else { return }
    end(SegueError(.connectionUnavailable, "a device that is not listed has closed the connection"))
  }

  private func take(_ bytes: [UInt8]) {
    do throws(SegueError) {
      for message in try stream.receive(bytes) where !isOver {
        guard waiting < Self.messageLimit else {
          throw SegueError(.limitExceeded, "a device that is not listed says more than is heard")
        }
        links.heard(message, over: self)
      }
    } catch { end(error) }
  }

  /// The other end has closed it, or says what is not due.
  private func end(_ error: SegueError) {
    guard !isOver else { return }
    isOver = true
    links.turnAway(self, error)
  }
}
