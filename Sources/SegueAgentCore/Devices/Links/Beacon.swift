// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueCrypto
import SegueModel

/// The datagram by which a device announces itself on a local network, in 38 bytes:
///
///     16 bytes   a random nonce
///      6 bytes   the port of its listener (2) and the number of the slot (4), under a key stream of the beacon key and
///                the nonce
///     16 bytes   the first half of HMAC-SHA256(beacon key, nonce ‖ the 6 bytes)
///
/// A device of the account recognises it by trying the code. To others it is random: no byte is stable, and all beacons
/// have one length.
public enum Beacon {
  public static let size = 38
  public static let nonceSize = 16
  static let hiddenSize = 6
  fileprivate static let codeSize = 16
  /// Seconds of a slot: a beacon counts in its own, in the one before and in the one after.
  public static let slotTime: Int64 = 15 * 60

  /// Returns the number of the slot of a date, in seconds since 1970.
  public static func slot(at date: Double) -> Int64 {
    // A clock that is beyond all sense has a slot, too.
    guard date > -1e12, date < 1e12 else { return 0 }
    return Int64((date / Double(slotTime)).rounded(.down))
  }

  /// Hides a port and a slot, or shows them again; empty if OpenSSL has no memory.
  fileprivate static func hiding(
    _ bytes: some Collection<UInt8>, _ key: KeyedHash, _ nonce: ArraySlice<UInt8>
  ) -> [UInt8] {
    let stream = key.code(of: Array("segue hidden".utf8) + nonce)
    guard stream.count >= hiddenSize, bytes.count == hiddenSize else { return [] }
    return zip(bytes, stream).map { $0 ^ $1 }
  }

  fileprivate static func code(_ key: KeyedHash, _ nonce: ArraySlice<UInt8>, _ hidden: ArraySlice<UInt8>) -> [UInt8] {
    Array(key.code(of: Array("segue beacon".utf8) + nonce + hidden).prefix(codeSize))
  }
}

/// Makes and recognises beacons. A datagram that is not genuine changes nothing in it, but counts.
public final class BeaconCodec {
  /// The most genuine beacons that are remembered to recognise a replay. The oldest make room.
  static let remembered = 8_192
  /// Datagrams of one second that are compared with former epochs, too, each of which costs a code more. A flood
  /// of junk delays devices that have slept, and no others.
  static let formerReads = 128

  private let keys: [(epoch: UInt64, key: KeyedHash)]
  /// Nonces of genuine beacons that were received or sent, with their slots. Never iterated.
  private var seen: [Identifier: Int64] = [:]
  /// The same, oldest first.
  private var order: [Identifier] = []
  /// Those before this place in `order` are forgotten.
  private var forgotten = 0
  /// The last second in which a datagram came, and how many did.
  private var (second, reads) = (0.0, 0)

  /// - Parameters:
  ///   - epochs: those whose beacons are recognised, newest first; the first is announced under. 16 at most.
  ///   - former: the codec before this one; the beacons that it has seen were seen.
  /// Throws SYSTEM without OpenSSL 3, INVALID_ARGUMENT without an epoch.
  public convenience init(_ epochs: [EpochKeys], after former: BeaconCodec? = nil) throws(SegueError) {
    guard !epochs.isEmpty else { throw SegueError(.invalidArgument, "a beacon needs an epoch") }
    var keys: [(epoch: UInt64, key: KeyedHash)] = []
    for epoch in epochs.prefix(Knock.epochs) { keys.append((epoch.epoch, try KeyedHash(key: epoch.beacon))) }
    self.init(keys: keys)
    if let former { (seen, order, forgotten) = (former.seen, former.order, former.forgotten) }
  }

  private init(keys: [(epoch: UInt64, key: KeyedHash)]) { self.keys = keys }

  /// The number of epochs whose beacons are recognised; the number of the current one.
  var epochs: Int { keys.count }
  var current: UInt64 { keys[0].epoch }

  /// Returns a beacon of 38 bytes; none if OpenSSL has no memory.
  /// - Parameters:
  ///   - port: that of this device's listener.
  ///   - nonce: 16 new random bytes.
  ///   - date: seconds since 1970.
  ///   - age: the age of its epoch, 0 for the current one; less than `epochs`.
  public func make(port: UInt16, nonce: [UInt8], at date: Double, age: Int = 0) -> [UInt8] {
    guard keys.indices.contains(age) else { return [] }
    let key = keys[age].key
    let slot = Beacon.slot(at: date)
    let number = UInt32(truncatingIfNeeded: slot)
    var shown = [UInt8(port >> 8), UInt8(port & 0xFF)]
    for shift in [24, 16, 8, 0] { shown.append(UInt8(truncatingIfNeeded: number >> UInt32(shift))) }
    let hidden = Beacon.hiding(shown, key, nonce[...])
    // A beacon that comes back is this device's own.
    if let name = Identifier(bytes: nonce) { remember(name, slot) }
    let beacon = nonce + hidden + Beacon.code(key, nonce[...], hidden[...])
    return beacon.count == Beacon.size ? beacon : []
  }

  /// The content of a beacon.
  public enum News: Equatable, Sendable {
    /// A device of the account listens at that port.
    /// - Parameter isFormer: whether the beacon was made under a former epoch.
    case listens(port: UInt16, isFormer: Bool)
    /// A device of the account, or a recording of it, says that it is another time, in seconds since 1970. Nothing
    /// else of such a beacon counts.
    case otherTime(Double)
  }

  /// Reads a beacon; nil if it is not genuine, was seen before, or is of another time and a former epoch.
  /// - Parameter date: seconds since 1970.
  public func read(_ bytes: [UInt8], at date: Double) -> News? {
    guard bytes.count == Beacon.size, let name = Identifier(bytes: bytes[..<Beacon.nonceSize]) else { return nil }
    let nonce = bytes[..<Beacon.nonceSize]
    let hidden = bytes[Beacon.nonceSize..<Beacon.nonceSize + Beacon.hiddenSize]
    let now = Beacon.slot(at: date)
    for (epoch, key) in keys.prefix(countsRead(at: date) ? keys.count : 1) {
      let code = Beacon.code(key, nonce, hidden)
      guard KeyedHash.isSame(code[...], bytes[(Beacon.nonceSize + Beacon.hiddenSize)...]) else { continue }
      guard seen[name] == nil else { return nil }
      let shown = Beacon.hiding(hidden, key, nonce)
      guard shown.count == Beacon.hiddenSize else { return nil }
      let slot = shown[2...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      let isFormer = epoch != keys[0].epoch
      // Slots are counted modulo 2^32.
      let difference = Int32(bitPattern: slot &- UInt32(truncatingIfNeeded: now))
      guard (-1...1).contains(difference) else {
        return isFormer ? nil : .otherTime(Double((now + Int64(difference)) * Beacon.slotTime))
      }
      remember(name, now)
      return .listens(port: UInt16(shown[0]) << 8 | UInt16(shown[1]), isFormer: isFormer)
    }
    return nil
  }

  /// Whether a datagram is one of the first of its second.
  private func countsRead(at date: Double) -> Bool {
    if date.rounded(.down) != second { (second, reads) = (date.rounded(.down), 0) }
    reads = min(reads + 1, Self.formerReads + 1)
    return reads <= Self.formerReads
  }

  /// The number of beacons that are remembered.
  var memory: Int { seen.count }

  private func remember(_ name: Identifier, _ slot: Int64) {
    // One that counts in the slot after its own is remembered for two more.
    while forgotten < order.count, seen.count >= Self.remembered || (seen[order[forgotten]] ?? slot) < slot - 2 {
      seen[order[forgotten]] = nil
      forgotten += 1
    }
    if forgotten > Self.remembered {
      order.removeFirst(forgotten)
      forgotten = 0
    }
    seen[name] = slot
    order.append(name)
  }
}
