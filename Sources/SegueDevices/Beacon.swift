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

  fileprivate static func hiding(_ key: KeyedHash, _ nonce: ArraySlice<UInt8>) -> [UInt8] {
    Array(key.code(of: Array("segue port".utf8) + nonce).prefix(2))
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

/// Makes and recognises beacons. What is not genuine changes nothing in it.
public final class BeaconCodec {
  /// The most genuine beacons that are remembered to recognise a replay. The oldest make room.
  static let remembered = 8_192

  private let keys: [(epoch: UInt64, key: KeyedHash)]
  /// Nonces of genuine beacons that were received or sent, with their slots. Never iterated.
  private var seen: [Identifier: Int64] = [:]
  /// The same, oldest first.
  private var order: [Identifier] = []
  /// Those before this place in `order` are forgotten.
  private var forgotten = 0

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

  /// Returns a beacon of 34 bytes.
  /// - Parameters:
  ///   - port: of this device's listener.
  ///   - nonce: 16 new random bytes.
  ///   - date: seconds since 1970.
  public func make(port: UInt16, nonce: [UInt8], at date: Double) -> [UInt8] {
    let key = keys[0].key
    let hiding = Beacon.hiding(key, nonce[...])
    let hidden = [UInt8(port >> 8) ^ hiding[0], UInt8(port & 0xFF) ^ hiding[1]]
    let slot = Beacon.slot(at: date)
    // What comes back is this device's own.
    if let name = Identifier(bytes: nonce) { remember(name, slot) }
    return nonce + hidden + Beacon.code(key, nonce[...], slot, hidden[...])
  }

  /// Returns the port of the device that sent a beacon; nil if it is not genuine, not of this time, or was seen before.
  /// - Parameter date: seconds since 1970.
  public func read(_ bytes: [UInt8], at date: Double) -> UInt16? {
    guard bytes.count == Beacon.size, let name = Identifier(bytes: bytes[..<Beacon.nonceSize]) else { return nil }
    let nonce = bytes[..<Beacon.nonceSize]
    let hidden = bytes[Beacon.nonceSize..<Beacon.nonceSize + 2]
    let now = Beacon.slot(at: date)
    for (_, key) in keys {
      for slot in [now, now - 1, now + 1] {
        let code = Beacon.code(key, nonce, slot, hidden)
        guard KeyedHash.isSame(code[...], bytes[(Beacon.nonceSize + 2)...]) else { continue }
        guard seen[name] == nil else { return nil }
        remember(name, now)
        let hiding = Beacon.hiding(key, nonce)
        return UInt16(hidden[hidden.startIndex] ^ hiding[0]) << 8 | UInt16(hidden[hidden.startIndex + 1] ^ hiding[1])
      }
    }
    return nil
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
