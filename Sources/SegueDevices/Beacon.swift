import SegueCrypto
import SegueModel
import SegueTrust

/// What a device says of itself on a local network, in 34 bytes:
///
///     16 bytes   a random nonce
///      2 bytes   the port of its listener, under a key stream of the beacon key and the nonce
///     16 bytes   the first half of HMAC-SHA256(beacon key, nonce ‖ number of the slot ‖ hidden port)
///
/// A device of the account recognises it by trying the code. To others it is random: no byte is stable, and all beacons
/// have one length.
public enum Beacon {
  public static let size = 34
  public static let nonceSize = 16
  private static let codeSize = 16
  /// Seconds of a slot: a beacon counts in its own, in the one before and in the one after.
  public static let slotTime: Int64 = 15 * 60

  /// Returns the number of the slot of a date, in seconds since 1970.
  public static func slot(at date: Double) -> Int64 {
    // A clock that is beyond all sense has a slot, too.
    guard date > -1e15, date < 1e15 else { return 0 }
    return Int64((date / Double(slotTime)).rounded(.down))
  }

  /// Hides a port, or shows it again; nil if OpenSSL has no memory.
  fileprivate static func hiding(_ port: UInt16, _ key: KeyedHash, _ nonce: ArraySlice<UInt8>) -> UInt16? {
    let code = key.code(of: Array("segue port".utf8) + nonce)
    return code.count < 2 ? nil : port ^ (UInt16(code[0]) << 8 | UInt16(code[1]))
  }

  fileprivate static func code(
    _ key: KeyedHash, _ nonce: ArraySlice<UInt8>, _ slot: Int64, _ hidden: ArraySlice<UInt8>
  ) -> [UInt8] {
    var message = Array("segue beacon".utf8)
    message += nonce
    for shift in stride(from: 56, through: 0, by: -8) {
      message.append(UInt8(truncatingIfNeeded: slot >> Int64(shift)))
    }
    message += hidden
    return Array(key.code(of: message).prefix(codeSize))
  }
}

/// Makes and recognises beacons. What is not genuine changes nothing in it, but counts.
public final class BeaconCodec {
  /// The most genuine beacons that are remembered to recognise a replay. The oldest make room.
  static let remembered = 8_192
  /// Datagrams of one second that are compared with former epochs, too, each of which costs three codes more. A flood
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
  ///   - epochs: whose beacons are recognised, newest first; the first is announced under. 16 at most.
  ///   - former: what it has seen was seen.
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

  /// Returns a beacon of 34 bytes; none if OpenSSL has no memory.
  /// - Parameters:
  ///   - port: of this device's listener.
  ///   - nonce: 16 new random bytes.
  ///   - date: seconds since 1970.
  ///   - age: how many epochs back it is made; less than `epochs`.
  public func make(port: UInt16, nonce: [UInt8], at date: Double, age: Int = 0) -> [UInt8] {
    guard keys.indices.contains(age) else { return [] }
    let key = keys[age].key
    guard let port = Beacon.hiding(port, key, nonce[...]) else { return [] }
    let hidden = [UInt8(port >> 8), UInt8(port & 0xFF)]
    let slot = Beacon.slot(at: date)
    // What comes back is this device's own.
    if let name = Identifier(bytes: nonce) { remember(name, slot) }
    let beacon = nonce + hidden + Beacon.code(key, nonce[...], slot, hidden[...])
    return beacon.count == Beacon.size ? beacon : []
  }

  /// What a beacon says.
  public struct News: Equatable, Sendable {
    /// Of the listener of the device that has sent it.
    public let port: UInt16
    /// Whether it was made under a former epoch.
    public let isFormer: Bool
  }

  /// Reads a beacon; nil if it is not genuine, not of this time, or was seen before.
  /// - Parameter date: seconds since 1970.
  public func read(_ bytes: [UInt8], at date: Double) -> News? {
    guard bytes.count == Beacon.size, let name = Identifier(bytes: bytes[..<Beacon.nonceSize]) else { return nil }
    let nonce = bytes[..<Beacon.nonceSize]
    let hidden = bytes[Beacon.nonceSize..<Beacon.nonceSize + 2]
    let now = Beacon.slot(at: date)
    for (epoch, key) in keys.prefix(countsRead(at: date) ? keys.count : 1) {
      for slot in [now, now - 1, now + 1] {
        let code = Beacon.code(key, nonce, slot, hidden)
        guard KeyedHash.isSame(code[...], bytes[(Beacon.nonceSize + 2)...]) else { continue }
        guard seen[name] == nil else { return nil }
        remember(name, now)
        let hiddenPort = UInt16(hidden[hidden.startIndex]) << 8 | UInt16(hidden[hidden.startIndex + 1])
        guard let port = Beacon.hiding(hiddenPort, key, nonce) else { return nil }
        return News(port: port, isFormer: epoch != keys[0].epoch)
      }
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
