import SegueModel

/// Which addresses a device dials, and when. No I/O, no clock, no randomness: its owner dials what `takeDue` returns,
/// and says how that ended. An address is dialled again after a pause that doubles, for as long as it is static or was
/// announced lately. Addresses that lead to a linked device, or to this one, are left alone for a while: where a
/// connection leads is not up to the device that was there last.
public struct Dialler<Address: Equatable> {
  /// Milliseconds between two attempts at one address, whatever happens there: a beacon that is replayed, or an
  /// address that comes and goes, causes no more (A8).
  public static var leastPause: Int64 { 5_000 }
  /// Milliseconds to the second attempt, and the most between two.
  public static var firstPause: Int64 { 1_000 }
  public static var longestPause: Int64 { 60_000 }
  /// Milliseconds for which an announced address is dialled after its last beacon.
  public static var announcedTime: Int64 { 90_000 }
  /// The most announced addresses; the one whose beacon is oldest makes room.
  public static var announcedLimit: Int { 64 }
  /// The same for addresses that were announced under a former epoch, which a revoked device knows, too; the most that
  /// one machine announces, by its ports.
  public static var formerLimit: Int { 16 }
  public static var sourceLimit: Int { 8 }
  /// The most attempts at a time, and of those at addresses that were announced under a former epoch.
  public static var attemptLimit: Int { 16 }
  public static var formerAttemptLimit: Int { 4 }
  /// Milliseconds until a static address is looked at again that has led to a linked device, or to this one.
  public static var recheckPause: Int64 { 300_000 }

  /// How an attempt ended.
  public enum End: Sendable {
    /// A device is linked by it now, or already was.
    case linked(Identifier)
    /// The address led to this device.
    case own
    /// The other side did not prove the knock key: it may know only an older epoch.
    case silent
    /// The device there does not belong to the account, or no longer.
    case foreign
    /// All else.
    case failed
  }

  private struct Target {
    let address: Address
    let isStatic: Bool
    /// The machine that has announced it; empty for static ones.
    var source: [UInt8] = []
    /// Whether it was announced under a former epoch.
    var isFormer = false
    /// The uptime of the last beacon; `Int64.min` before the first.
    var heardAt: Int64
    /// The uptime of the next attempt; nil: none is planned.
    var dueAt: Int64?
    /// The uptime of the last attempt.
    var triedAt: Int64?
    var pause = Dialler.firstPause
    var isTrying = false
    /// The uptime until which beacons under a former epoch do not have it dialled.
    var quietUntil: Int64 = .min
    /// The device that was found there last.
    var device: Identifier?
    /// How many epochs back the next knock goes.
    var age = 0
  }

  private var targets: [Target] = []
  /// The devices that are linked.
  private var linked: [Identifier] = []
  /// Those of which nothing was heard since the network has changed: their connections may be dead.
  private var suspected: [Identifier] = []

  public init() {}

  public var addressCount: Int { targets.count }

  /// The uptime at which `takeDue` has an address; nil for none.
  public var nextDeadline: Int64? { targets.compactMap { mayTry($0) ? due($0) : nil }.min() }

  /// Whether a link there may have to be made anew, although no beacon is sent while there is one.
  private func leadsToLinked(_ target: Target) -> Bool {
    target.device.map { linked.contains($0) || suspected.contains($0) } ?? false
  }

  /// Whether an attempt at it would be one too many now.
  private func mayTry(_ target: Target) -> Bool {
    let attempts = targets.count { $0.isTrying }
    let former = targets.count { $0.isTrying && $0.isFormer }
    return attempts < Self.attemptLimit && !(target.isFormer && former >= Self.formerAttemptLimit)
  }

  /// When it is to be dialled; nil if it is not.
  private func due(_ target: Target) -> Int64? {
    guard !target.isTrying, let dueAt = target.dueAt else { return nil }
    guard target.device.map({ linked.contains($0) }) ?? false else { return dueAt }
    return target.isStatic ? max(dueAt, (target.triedAt ?? dueAt) + Self.recheckPause) : nil
  }

  // MARK: Addresses

  /// Sets the addresses that the user has named. What was known of where they lead is forgotten.
  public mutating func setStatic(_ addresses: [Address], _ uptime: Int64) {
    targets.removeAll { target in target.isStatic && !addresses.contains { $0 == target.address } }
    for address in addresses {
      if let index = index(of: address) {
        guard !targets[index].isStatic else {
          targets[index].device = nil
          targets[index].dueAt = min(targets[index].dueAt ?? .max, soonest(targets[index], uptime))
          continue
        }
        targets.remove(at: index)
      }
      targets.append(Target(address: address, isStatic: true, heardAt: .min, dueAt: uptime))
    }
  }

  /// A genuine beacon has announced an address.
  /// - Parameters:
  ///   - source: the machine that it came from.
  ///   - isFormer: whether the beacon was made under a former epoch: by a device that has slept, or a revoked one.
  public mutating func announced(_ address: Address, from source: [UInt8], isFormer: Bool = false, _ uptime: Int64) {
    if let index = index(of: address) {
      targets[index].heardAt = uptime
      if !isFormer {
        targets[index].isFormer = false
        targets[index].quietUntil = .min
      }
      guard targets[index].quietUntil <= uptime else { return }
      // A device that announces itself can be reached: not later than is planned.
      targets[index].dueAt = min(targets[index].dueAt ?? .max, soonest(targets[index], uptime))
      return
    }
    makeRoom(atMost: Self.sourceLimit) { $0.isFormer == isFormer && $0.source == source }
    makeRoom(atMost: isFormer ? Self.formerLimit : Self.announcedLimit) { $0.isFormer == isFormer }
    targets.append(
      Target(
        address: address, isStatic: false, source: source, isFormer: isFormer, heardAt: uptime, dueAt: uptime))
  }

  /// Forgets the announced address that was heard of longest ago, if there are too many of a kind.
  private mutating func makeRoom(atMost limit: Int, _ isKind: (Target) -> Bool) {
    let kind = targets.indices.filter { !targets[$0].isStatic && isKind(targets[$0]) }
    guard kind.count >= limit else { return }
    let oldest = kind.filter { !targets[$0].isTrying }.min { targets[$0].heardAt < targets[$1].heardAt }
    if let oldest { targets.remove(at: oldest) }
  }

  /// This device has another network or address, or it has woken up: dials all, also those of linked devices whose
  /// connections may be dead without notice.
  public mutating func networkChanged(_ uptime: Int64) {
    suspected += linked
    linked = []
    for index in targets.indices {
      targets[index].pause = Self.firstPause
      targets[index].quietUntil = .min
      targets[index].dueAt = uptime
    }
  }

  private func index(of address: Address) -> Int? { targets.firstIndex { $0.address == address } }

  private func soonest(_ target: Target, _ uptime: Int64) -> Int64 {
    max(uptime, target.triedAt.map { $0 + Self.leastPause } ?? uptime)
  }

  // MARK: Attempts

  /// Returns the next address to dial, and how many epochs back to knock; nil if none is due.
  public mutating func takeDue(_ uptime: Int64) -> (address: Address, age: Int)? {
    targets = targets.filter {
      $0.isStatic || $0.isTrying || leadsToLinked($0) || uptime - Self.announcedTime < $0.heardAt
    }
    let ready = targets.indices.filter { mayTry(targets[$0]) && due(targets[$0]).map { $0 <= uptime } ?? false }
    guard let index = ready.first(where: { !targets[$0].isFormer }) ?? ready.first else { return nil }
    targets[index].isTrying = true
    targets[index].triedAt = uptime
    targets[index].dueAt = nil
    return (targets[index].address, targets[index].age)
  }

  /// An attempt has ended.
  /// - Parameters:
  ///   - epochs: how many this device knows.
  ///   - random: drawn for this call.
  public mutating func ended(_ address: Address, _ end: End, epochs: Int, _ uptime: Int64, random: UInt32) {
    if case .linked(let device) = end { self.linked(device) }
    guard let index = index(of: address), targets[index].isTrying else { return }
    targets[index].isTrying = false
    switch end {
    case .linked(let device):
      targets[index].device = device
      targets[index].pause = Self.firstPause
      targets[index].age = 0
      return look(index, uptime)
    case .own: return look(index, uptime)
    case .foreign:
      targets[index].quietUntil = uptime + Self.recheckPause
      guard targets[index].isStatic else { return }
    case .silent: targets[index].age = epochs > 0 ? (targets[index].age + 1) % epochs : 0
    case .failed: break
    }
    plan(index, uptime, random)
  }

  /// An address that was due cannot be dialled: this device has no way there now. It is dialled again after the pause,
  /// or when it is announced: nothing has left this device.
  /// - Parameter random: drawn for this call.
  public mutating func undialled(_ address: Address, _ uptime: Int64, random: UInt32) {
    guard let index = index(of: address), targets[index].isTrying else { return }
    targets[index].isTrying = false
    targets[index].triedAt = nil
    plan(index, uptime, random)
  }

  /// Plans a look at where a static address leads then; one that was announced will be announced again.
  private mutating func look(_ index: Int, _ uptime: Int64) {
    targets[index].dueAt = targets[index].isStatic ? uptime + Self.recheckPause : nil
  }

  private mutating func plan(_ index: Int, _ uptime: Int64, _ random: UInt32) {
    let pause = targets[index].pause
    // Between half and all of it, so that two devices do not go on dialling at the same moments.
    let jitter = pause / 2 + Int64(random) % (pause / 2 + 1)
    targets[index].pause = min(2 * pause, Self.longestPause)
    let next = max(uptime + jitter, targets[index].isStatic ? uptime : soonest(targets[index], uptime))
    // Sooner, if the network has changed meanwhile.
    targets[index].dueAt = min(targets[index].dueAt ?? .max, next)
  }

  // MARK: Links

  /// Whether a device is linked, and its connection was not suspected of being dead since something was heard on it.
  public func isLinked(_ device: Identifier) -> Bool { linked.contains(device) }

  /// Whether a device that is linked has announced an address that was not known to lead to it, after it was linked: it
  /// has moved there, and may miss the link. Of an address that has led to it once, a beacon tells nothing: the device
  /// may miss another one.
  /// - Parameter since: the uptime at which it was linked.
  public func hasMoved(_ device: Identifier, to address: Address, since: Int64) -> Bool {
    guard let target = targets.first(where: { $0.address == address }) else { return false }
    return target.device != device && target.heardAt > since
  }

  /// A device is linked, by whatever address.
  public mutating func linked(_ device: Identifier) {
    suspected.removeAll { $0 == device }
    if !linked.contains(device) { linked.append(device) }
  }

  /// Something was heard of a linked device.
  public mutating func heard(_ device: Identifier) { if suspected.contains(device) { linked(device) } }

  /// The link with a device has ended: its addresses are dialled again.
  public mutating func unlinked(_ device: Identifier, _ uptime: Int64, random: UInt32) {
    linked.removeAll { $0 == device }
    suspected.removeAll { $0 == device }
    for index in targets.indices where targets[index].device == device && !targets[index].isTrying {
      targets[index].pause = Self.firstPause
      targets[index].heardAt = max(targets[index].heardAt, uptime)
      targets[index].dueAt = nil
      plan(index, uptime, random)
    }
  }
}
