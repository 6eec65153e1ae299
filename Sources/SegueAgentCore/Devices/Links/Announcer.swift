// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Announces a device to the others of its account, and reads their beacons. No I/O, no clock, no randomness: its owner
/// sends what `takeDue` returns, on each network.
public final class Announcer {
  private var codec: BeaconCodec
  private var schedule = BeaconSchedule()
  /// The other devices of the account: this one announces itself while one of them is missing.
  private var known: [Identifier] = []
  /// Those that were linked in the current epoch: they know it.
  private var linkedInEpoch: [Identifier] = []
  /// The age of the last former epoch under which a beacon was made, and whether that beacon was the last of all.
  private var (age, wasFormer) = (0, false)
  /// The port of this device's listener.
  public var port: UInt16 = 0

  /// - Parameter epochs: those of the account, newest first. Throws as `BeaconCodec` does.
  public convenience init(_ epochs: [EpochKeys]) throws(SegueError) { self.init(try BeaconCodec(epochs)) }

  private init(_ codec: BeaconCodec) { self.codec = codec }

  /// Sets the other devices of the account.
  public func setKnown(_ devices: [Identifier]) {
    known = devices
    linkedInEpoch.removeAll { !devices.contains($0) }
  }

  /// Takes other epochs; beacons that were seen stay seen. If this throws, all is as before.
  public func renew(_ epochs: [EpochKeys]) throws(SegueError) {
    let former = codec
    codec = try BeaconCodec(epochs, after: former)
    if codec.current != former.current { linkedInEpoch = [] }
  }

  /// This device has another network or address, or it has woken up.
  public func networkChanged(_ uptime: Int64) { schedule.changed(uptime) }

  /// The uptime at which a beacon is due; nil while none is.
  public var nextDeadline: Int64? { schedule.nextDeadline }

  /// Whether a beacon may be due now: then randomness is drawn for `takeDue`.
  /// - Parameter linked: the devices of whose links something was heard.
  public func isDue(linked: [Identifier], _ uptime: Int64) -> Bool {
    for device in linked where known.contains(device) && !linkedInEpoch.contains(device) {
      linkedInEpoch.append(device)
    }
    schedule.set(isWanted: known.contains { !linked.contains($0) }, uptime)
    return schedule.nextDeadline.map { $0 <= uptime } ?? false
  }

  /// Returns a beacon to be sent now; nil if none is due.
  /// - Parameters:
  ///   - nonce: 16 new random bytes.
  ///   - random: drawn for this call.
  public func takeDue(_ now: Instant, nonce: [UInt8], random: UInt32) -> [UInt8]? {
    guard schedule.takeDue(now.uptime, random: random) else { return nil }
    let beacon = codec.make(port: port, nonce: nonce, at: now.date, age: nextAge())
    return beacon.isEmpty ? nil : beacon
  }

  /// The age of the next beacon's epoch: 0 for the current one, 1 for the one before it. A device that was not linked
  /// in the current epoch may have another one: two managers have begun one each, or one was restored from a backup.
  /// Both know the former ones, so every second beacon is made under one of these.
  private func nextAge() -> Int {
    guard codec.epochs > 1, known.contains(where: { !linkedInEpoch.contains($0) }) else { return 0 }
    wasFormer.toggle()
    guard wasFormer else { return 0 }
    age = age % (codec.epochs - 1) + 1
    return age
  }

  /// Reads a beacon; nil if it is not genuine, was seen before, or names no port.
  /// - Parameter date: seconds since 1970.
  public func read(_ bytes: [UInt8], at date: Double) -> BeaconCodec.News? {
    let news = codec.read(bytes, at: date)
    if case .listens(port: 0, _) = news { return nil }
    return news
  }
}
