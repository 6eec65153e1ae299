// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Decides which addresses a device dials, and when. No I/O, no clock, no randomness: its owner dials what `takeDue`
/// returns, and says how that ended. An address is dialled again after a pause that doubles, for as long as it is
/// static or was announced lately. Addresses that lead to a linked device, or to this one, are left alone for a while:
/// where a connection leads is not up to the device that was there last.
public struct Dialler<Address: Equatable> {
  /// Milliseconds between two attempts at one address, whatever happens there: a beacon that is replayed, or an
  /// address that comes and goes, causes no more (A8).
  public static var leastPause: Int64 { 5_000 }
  /// Milliseconds to the second attempt, and the most between two.
  public static var firstPause: Int64 { 1_000 }
  public static var longestPause: Int64 { 60_000 }
  /// Milliseconds for which an announced address is dialled after its last beacon.
  public static var announcedTime: Int64 { 90_000 }
  /// The most announced addresses (`makeRoom`).
  public static var announcedLimit: Int { 64 }
  /// The same for addresses that were announced under a former epoch, which a revoked device knows, too; the most that
  /// one machine announces, by its ports.
  public static var formerLimit: Int { 16 }
  public static var sourceLimit: Int { 8 }
  /// The most attempts at a time; of those at addresses that were announced under a former epoch; and at addresses that
  /// one machine has announced.
  public static var attemptLimit: Int { 16 }
  public static var formerAttemptLimit: Int { 4 }
  public static var sourceAttemptLimit: Int { 4 }
  /// Milliseconds after which an attempt ends if another address waits for its turn: until the knock is answered, and
  /// from then on. An address that leads nowhere holds up none that does.
  public static var knockPatience: Int64 { 500 }
  public static var linkPatience: Int64 { 1_000 }
  /// The same for all of an attempt at an arranged path, which begins with a program or another device; and the most of
  /// those at a time.
  public static var arrangedPatience: Int64 { 10_000 }
  public static var arrangedAttemptLimit: Int { 4 }
  /// The paths to one device through others.
  public static var relayLimit: Int { 4 }
  /// The addresses of one device that are kept before others.
  public static var deviceLimit: Int { 4 }
  /// Milliseconds until a static address is looked at again that has led to a linked device, or to this one; and the
  /// most between two attempts at an address that a device has told, or at an arranged path.
  public static var recheckPause: Int64 { 300_000 }
  /// Milliseconds between the beginnings of two attempts at one device: the cheapest path begins first (R14.1).
  public static var stagger: Int64 { 250 }
  /// Milliseconds between two moves of a link to another path (R14.1).
  public static var moveInterval: Int64 { 5_000 }
  /// The most attempts at a better path for a linked device, until its addresses or the network change.
  public static var improvementLimit: Int { 3 }

  /// The end of an attempt.
  public enum End: Sendable {
    /// A device is linked by it now, or already was.
    case linked(Identifier)
    /// The address led to this device.
    case own
    /// The other side did not prove the knock key: it may know only an older epoch.
    case silent
    /// The other side did not even ask for the knock, so its epoch is none of the reasons.
    case unreached
    /// The device there does not belong to the account, or no longer.
    case foreign
    /// The device there has a certificate of the account, and is not in the list of devices.
    case unlisted
    /// The user does not want that kind of path used to the device there.
    case avoided(Identifier)
    /// All else.
    case failed
  }

  /// The furthest step that attempts at an address have reached.
  private enum Standing: Int {
    case unknown
    /// The other side has proved the knock key.
    case knocked
    /// A device was linked by it.
    case linked
  }

  /// Beacons that do not have an address dialled, since the device that was found there is refused.
  private enum Quiet {
    case none
    /// Those under a former epoch.
    case former(until: Int64)
    /// All, until the list of devices changes.
    case all(until: Int64)

    func holds(at uptime: Int64) -> Bool {
      switch self {
      case .none: false
      case .former(let until), .all(let until): until > uptime
      }
    }
  }

  /// The reason for which an address is known.
  private enum Kind {
    /// The user has named it.
    case named
    /// A beacon has announced it.
    case announced
    /// A device has told it over a link.
    case told
    /// A name of a device led there when it was looked up last.
    case resolved
    /// The user has arranged it for one device: a command.
    case arranged
    /// A linked device may pass bytes on to it (R14.3).
    case relayed
  }

  private struct Target {
    let address: Address
    var kind: Kind
    var isStatic: Bool { kind == .named }
    /// Whether it stays, wherever it has led.
    var isLasting: Bool { [.named, .arranged, .relayed].contains(kind) }
    var cost: PathCost
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
    /// Whether the other side of the attempt under way has proved the knock key.
    var hasKnocked = false
    var standing = Standing.unknown
    var quiet = Quiet.none
    /// The device that was found there last.
    var device: Identifier?
    /// Whether the user has named the address again since: it may lead elsewhere now.
    var isDoubted = false
    /// The age of the next knock's epoch: 0 for the current one, 1 for the one before it.
    var age = 0
    /// Attempts at it that may still be made as a better path of a linked device.
    var improvements = Dialler.improvementLimit
    /// The reason for which the last attempt has failed.
    var failure: SegueError?
    /// The reason for which its relay does not lead there now.
    var obstacle: SegueError?
  }

  /// The connection of a link.
  private struct Present {
    let device: Identifier
    let address: Address
    var cost: PathCost
    /// The uptime since which it is the link.
    let since: Int64
  }

  private var targets: [Target] = []
  /// The devices that are linked.
  private var linked: [Identifier] = []
  /// Those of which nothing was heard since the network has changed: their connections may be dead.
  private var suspected: [Identifier] = []
  /// The connections of linked devices.
  private var present: [Present] = []
  /// The kinds of paths that are not used to a device.
  private var avoided: [(device: Identifier, costs: [PathCost])] = []
  private var cost: (Address) -> PathCost = { _ in .routed }

  public init() {}

  public var addressCount: Int { targets.count }
  func knows(_ address: Address) -> Bool { index(of: address) != nil }

  /// The uptime at which `takeDue` has an address, or `outstayed` has; nil for none.
  public var nextDeadline: Int64? {
    targets.indices.compactMap { index in
      guard let dueAt = due(targets[index]) else { return nil }
      if mayTry(targets[index]) { return dueAt }
      return blockers(of: index).compactMap { patience(of: targets[$0]) }.min().map { max(dueAt, $0) }
    }.min()
  }

  /// Whether a link there may have to be made anew, although no beacon is sent while there is one.
  private func leadsToLinked(_ target: Target) -> Bool {
    target.device.map { linked.contains($0) || suspected.contains($0) } ?? false
  }

  /// Whether an attempt at it would be none too many now.
  private func mayTry(_ target: Target) -> Bool {
    guard !hasEnough(of: target) else { return false }
    let attempts = targets.count { $0.isTrying }
    let former = targets.count { $0.isTrying && $0.isFormer }
    return attempts < Self.attemptLimit && !(target.isFormer && former >= Self.formerAttemptLimit)
  }

  /// Whether as many attempts as may be are under way at addresses of the machine that has announced it, or of the
  /// device that was found there.
  private func hasEnough(of target: Target) -> Bool {
    if target.kind == .arranged {
      return targets.count { $0.isTrying && $0.kind == .arranged } >= Self.arrangedAttemptLimit
    }
    guard target.kind == .announced || target.kind == .told else { return false }
    let ofSource = targets.count { $0.isTrying && $0.kind == .announced && $0.source == target.source }
    let ofDevice = targets.count { $0.isTrying && !$0.isLasting && target.device != nil && $0.device == target.device }
    return max(target.kind == .announced ? ofSource : 0, ofDevice) >= Self.sourceAttemptLimit
  }

  /// The attempts that keep an address from its turn.
  private func blockers(of index: Int) -> [Int] {
    guard !hasEnough(of: targets[index]) else { return [] }
    // It waits for another one that was announced under a former epoch, unless all attempts are under way.
    let isOverAll = targets.count { $0.isTrying } >= Self.attemptLimit && !targets[index].isFormer
    return targets.indices.filter { targets[$0].isTrying && (targets[$0].isFormer || isOverAll) }
  }

  /// The uptime at which an attempt makes room for another one.
  private func patience(of target: Target) -> Int64? {
    let patience = target.hasKnocked ? Self.linkPatience : Self.knockPatience
    return target.triedAt.map { $0 + (target.kind == .arranged ? Self.arrangedPatience : patience) }
  }

  /// The addresses whose attempts the owner ends, so that others that are due have their turn.
  public func outstayed(_ uptime: Int64) -> [Address] {
    var ending: [Int] = []
    for index in targets.indices where due(targets[index]).map({ $0 <= uptime }) ?? false && !mayTry(targets[index]) {
      let late = blockers(of: index).filter { other in
        !ending.contains(other) && patience(of: targets[other]).map { $0 <= uptime } ?? false
      }
      if let next = late.min(by: { goesFirst(targets[$0], targets[$1]) }) { ending.append(next) }
    }
    return ending.map { targets[$0].address }
  }

  /// Whether the first of two attempts ends before the second: first the one that has come less far, then the older.
  private func goesFirst(_ one: Target, _ other: Target) -> Bool {
    let ranks = [one, other].map { $0.standing.rawValue + ($0.isLasting ? 4 : 0) }
    return ranks[0] != ranks[1] ? ranks[0] < ranks[1] : (one.triedAt ?? 0) < (other.triedAt ?? 0)
  }

  /// When it is to be dialled; nil if it is not.
  private func due(_ target: Target) -> Int64? {
    guard !target.isTrying, target.obstacle == nil, !isAvoided(target), let planned = target.dueAt else { return nil }
    let dueAt = max(planned, turn(of: target))
    guard !target.isDoubted, let device = target.device, linked.contains(device) else { return dueAt }
    if let since = improvedSince(target) { return max(dueAt, since + Self.moveInterval) }
    return target.isStatic ? max(dueAt, (target.triedAt ?? dueAt) + Self.recheckPause) : nil
  }

  /// Whether it leads to a device to which paths of its kind are not used. One that the user has named again may lead
  /// elsewhere.
  private func isAvoided(_ target: Target) -> Bool {
    guard let device = target.device, !target.isDoubted else { return false }
    return isAvoided(target.cost, to: device)
  }

  private func isAvoided(_ cost: PathCost, to device: Identifier) -> Bool {
    avoided.contains { $0.device == device && $0.costs.contains(cost) }
  }

  /// Whether an address is a path of a kind that is not used to a device.
  public func isAvoided(_ address: Address, to device: Identifier) -> Bool { isAvoided(cost(address), to: device) }

  /// The uptime from which on an attempt at its device may begin beside those that are under way.
  private func turn(of target: Target) -> Int64 {
    guard let device = target.device else { return .min }
    let begun = targets.compactMap { $0.isTrying && $0.device == device ? $0.triedAt : nil }
    return begun.max().map { $0 + Self.stagger } ?? .min
  }

  /// The uptime since which its device is linked by a worse path; nil: it is not, or enough attempts were made at it.
  private func improvedSince(_ target: Target) -> Int64? {
    guard target.improvements > 0, let link = present.first(where: { $0.device == target.device }),
      target.cost < link.cost
    else { return nil }
    return link.since
  }

  // MARK: Addresses

  /// Sets the addresses that the user has named. It is looked again where they lead.
  public mutating func setStatic(_ addresses: [Address], _ uptime: Int64) {
    targets.removeAll { target in target.isStatic && !addresses.contains { $0 == target.address } }
    for address in addresses {
      if let index = index(of: address) {
        guard !targets[index].isStatic else {
          targets[index].isDoubted = true
          targets[index].dueAt = min(targets[index].dueAt ?? .max, soonest(targets[index], uptime))
          continue
        }
        targets.remove(at: index)
      }
      targets.append(Target(address: address, kind: .named, cost: cost(address), heardAt: .min, dueAt: uptime))
    }
  }

  /// The user has named an address as one of a device.
  public mutating func expect(_ device: Identifier, at address: Address) {
    guard let index = index(of: address), targets[index].device == nil else { return }
    targets[index].device = device
  }

  /// Sets the addresses that a device has told over a link, or told before; at most `Limits.toldAddresses` count.
  /// - Parameter best: the one by which it was linked last; it need not be among them.
  public mutating func setTold(_ device: Identifier, _ addresses: [Address], best: Address? = nil, _ uptime: Int64) {
    let all = Array((best.map { [$0] } ?? []) + addresses.prefix(Limits.toldAddresses))
    targets.removeAll { target in
      target.kind == .told && target.device == device && !target.isTrying && !all.contains(target.address)
        && (all.isEmpty || target.standing != .linked)
    }
    let isNews = all.contains { index(of: $0) == nil }
    for address in all {
      guard let index = index(of: address) else {
        targets.append(
          Target(address: address, kind: .told, cost: cost(address), heardAt: .min, dueAt: uptime, device: device))
        continue
      }
      if targets[index].device == nil { targets[index].device = device }
      if isNews { targets[index].improvements = Self.improvementLimit }
    }
    if let best, let index = index(of: best), targets[index].standing == .unknown { targets[index].standing = .knocked }
  }

  /// A name of a device was looked up: its addresses are dialled. Those of before are kept if they have led there.
  public mutating func resolved(_ device: Identifier, _ addresses: [Address], _ uptime: Int64) {
    targets.removeAll { target in
      target.kind == .resolved && target.device == device && !target.isTrying && target.standing != .linked
        && target.dueAt == nil && !addresses.contains(target.address)
    }
    for address in addresses {
      guard let index = index(of: address) else {
        targets.append(
          Target(address: address, kind: .resolved, cost: cost(address), heardAt: .min, dueAt: uptime, device: device))
        continue
      }
      if targets[index].device == nil { targets[index].device = device }
      targets[index].dueAt = min(targets[index].dueAt ?? .max, soonest(targets[index], uptime))
    }
  }

  /// Sets the paths that are arranged for a device, and lead to no other. The owner ends an attempt at one that is
  /// none of them any longer.
  public mutating func setArranged(_ device: Identifier, _ paths: [Address], _ uptime: Int64) {
    targets.removeAll { $0.kind == .arranged && $0.device == device && !paths.contains($0.address) }
    for path in paths where index(of: path) == nil {
      targets.append(
        Target(address: path, kind: .arranged, cost: cost(path), heardAt: .min, dueAt: uptime, device: device))
    }
  }

  /// The user has arranged something again: all of it is dialled, whenever it was last.
  public mutating func retryArranged(_ uptime: Int64) {
    for index in targets.indices where targets[index].kind == .arranged {
      targets[index].pause = Self.firstPause
      if !targets[index].isTrying { targets[index].dueAt = uptime }
    }
  }

  /// The user has ended the link with a device: its other paths are dialled at once, whenever they were last.
  public mutating func retry(_ device: Identifier, _ uptime: Int64) {
    for index in targets.indices where targets[index].device == device && !targets[index].isTrying {
      targets[index].pause = Self.firstPause
      targets[index].dueAt = uptime
    }
  }

  /// Sets the paths to a device through others; at most `relayLimit` count. Another attempt at one that stays comes no
  /// sooner than at an address, whatever its relay says meanwhile.
  /// - Parameter paths: those that can be used before those that cannot, with the reason.
  public mutating func setRelayed(
    _ device: Identifier, _ paths: [(address: Address, obstacle: SegueError?)], _ uptime: Int64
  ) {
    let paths = paths.prefix(Self.relayLimit)
    for index in targets.indices where targets[index].kind == .relayed && targets[index].device == device {
      guard !paths.contains(where: { $0.address == targets[index].address }) else { continue }
      targets[index].obstacle = SegueError(.connectionUnavailable, "other relays come first, or it leads there no more")
    }
    // One that was tried lately is remembered: what its relay says makes no pause shorter.
    targets.removeAll { target in
      target.kind == .relayed && target.device == device && !target.isTrying
        && target.triedAt.map { $0 + Self.leastPause <= uptime } ?? true
        && !paths.contains { $0.address == target.address }
    }
    for (path, obstacle) in paths {
      guard let index = index(of: path) else {
        var target = Target(
          address: path, kind: .relayed, cost: cost(path), heardAt: .min, dueAt: uptime, device: device)
        target.obstacle = obstacle
        targets.append(target)
        continue
      }
      if targets[index].obstacle != nil, obstacle == nil {
        targets[index].pause = Self.firstPause
        targets[index].dueAt = min(targets[index].dueAt ?? .max, soonest(targets[index], uptime))
      }
      targets[index].obstacle = obstacle
    }
  }

  /// Sets the kinds of paths that are not used to a device. The owner ends what uses one.
  public mutating func setAvoided(_ device: Identifier, _ costs: [PathCost], _ uptime: Int64) {
    let former = avoided.first { $0.device == device }?.costs ?? []
    guard costs != former else { return }
    avoided.removeAll { $0.device == device }
    if !costs.isEmpty { avoided.append((device, costs)) }
    for index in targets.indices where targets[index].device == device && former.contains(targets[index].cost) {
      targets[index].improvements = Self.improvementLimit
      targets[index].dueAt = min(targets[index].dueAt ?? .max, soonest(targets[index], uptime))
    }
  }

  /// A device is no longer in the account.
  public mutating func forget(_ device: Identifier) {
    avoided.removeAll { $0.device == device }
    targets.removeAll { target in
      target.device == device
        && ([.arranged, .relayed].contains(target.kind)
          || [.told, .resolved].contains(target.kind) && !target.isTrying)
    }
  }

  /// Sets the costs of addresses, which follow from the interfaces.
  public mutating func setCosts(_ cost: @escaping (Address) -> PathCost) {
    self.cost = cost
    for index in targets.indices { targets[index].cost = cost(targets[index].address) }
    for index in present.indices { present[index].cost = cost(present[index].address) }
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
        if case .former = targets[index].quiet { targets[index].quiet = .none }
      }
      guard !targets[index].quiet.holds(at: uptime) else { return }
      // A device that announces itself can be reached: not later than is planned.
      targets[index].dueAt = min(targets[index].dueAt ?? .max, soonest(targets[index], uptime))
      return
    }
    let hasRoom =
      makeRoom(atMost: Self.sourceLimit) { $0.isFormer == isFormer && $0.source == source }
      && makeRoom(atMost: isFormer ? Self.formerLimit : Self.announcedLimit) { $0.isFormer == isFormer }
    guard hasRoom else { return }
    targets.append(
      Target(
        address: address, kind: .announced, cost: cost(address), source: source, isFormer: isFormer, heardAt: uptime,
        dueAt: uptime))
  }

  /// Forgets an announced address if there are as many of a kind as may be: of those that were dialled, and led to no
  /// device, first one whose knock was not answered, then the one heard of longest ago. One that was not dialled yet
  /// has its turn before a later one. Addresses that have led to a device go last.
  /// - Returns: whether there is room.
  private mutating func makeRoom(atMost limit: Int, _ isKind: (Target) -> Bool) -> Bool {
    let kind = targets.indices.filter { targets[$0].kind == .announced && isKind(targets[$0]) }
    guard kind.count >= limit else { return true }
    let idle = kind.filter { !targets[$0].isTrying }
    let isNew = { (target: Target) in target.standing != .linked && target.triedAt == nil }
    var candidates = idle.filter { targets[$0].standing != .linked && !isNew(targets[$0]) }
    if candidates.isEmpty, !idle.contains(where: { isNew(targets[$0]) }) { candidates = idle }
    let first = candidates.min { one, other in
      let (one, other) = (targets[one], targets[other])
      return one.standing != other.standing
        ? one.standing.rawValue < other.standing.rawValue : one.heardAt < other.heardAt
    }
    guard let first else { return false }
    targets.remove(at: first)
    return true
  }

  /// This device has another network or address, or it has woken up: dials all, also those of linked devices whose
  /// connections may be dead without notice.
  public mutating func networkChanged(_ uptime: Int64) {
    suspected += linked
    linked = []
    for index in targets.indices {
      targets[index].pause = Self.firstPause
      targets[index].quiet = .none
      // A change is no reason to start programs again and again.
      targets[index].dueAt = targets[index].kind == .arranged ? soonest(targets[index], uptime) : uptime
      targets[index].improvements = Self.improvementLimit
    }
  }

  /// The list of devices has changed: it may have one that was refused.
  public mutating func devicesChanged(_ uptime: Int64) {
    for index in targets.indices {
      guard case .all = targets[index].quiet else { continue }
      targets[index].quiet = .none
      targets[index].dueAt = min(targets[index].dueAt ?? .max, soonest(targets[index], uptime))
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
      $0.kind != .announced || $0.isTrying || leadsToLinked($0) || uptime - Self.announcedTime < $0.heardAt
    }
    let ready = targets.indices.filter { mayTry(targets[$0]) && due(targets[$0]).map { $0 <= uptime } ?? false }
    guard let index = ready.min(by: { hasTurn(targets[$0], before: targets[$1]) }) else { return nil }
    targets[index].isTrying = true
    targets[index].hasKnocked = false
    targets[index].triedAt = uptime
    targets[index].dueAt = nil
    if let device = targets[index].device, linked.contains(device) { targets[index].improvements -= 1 }
    return (targets[index].address, targets[index].age)
  }

  /// Whether the first of two addresses that are due is dialled before the second. Addresses of the user and those that
  /// have led to a device come first; those that were announced under a former epoch come last.
  private func hasTurn(_ one: Target, before other: Target) -> Bool {
    if one.device != nil, one.device == other.device, one.cost != other.cost { return one.cost < other.cost }
    let ranks = [one, other].map { target in
      if target.isFormer { return 2 }
      return target.isLasting || target.kind == .resolved || target.standing == .linked ? 0 : 1
    }
    guard ranks[0] == ranks[1] else { return ranks[0] < ranks[1] }
    // One that was tried in vain lets others pass, for a while.
    let turns = [one, other].map { ($0.dueAt ?? 0) + ($0.triedAt == nil ? 0 : Self.firstPause) }
    return turns[0] < turns[1]
  }

  /// The other side of an attempt has proved the knock key.
  public mutating func knocked(_ address: Address) {
    guard let index = index(of: address), targets[index].isTrying else { return }
    targets[index].hasKnocked = true
    if targets[index].standing == .unknown { targets[index].standing = .knocked }
  }

  /// An attempt has ended.
  /// - Parameters:
  ///   - epochs: the number of epochs that this device knows.
  ///   - random: drawn for this call.
  public mutating func ended(_ address: Address, _ end: End, epochs: Int, _ uptime: Int64, random: UInt32) {
    if case .linked(let device) = end { self.linked(device) }
    guard let index = index(of: address), targets[index].isTrying else { return }
    targets[index].isTrying = false
    switch end {
    case .linked(let device):
      targets[index].failure = nil
      targets[index].device = device
      targets[index].isDoubted = false
      targets[index].standing = .linked
      targets[index].pause = Self.firstPause
      targets[index].age = 0
      look(index, uptime)
      // It came up while a worse path was too young to be left.
      if improvedSince(targets[index]) != nil { targets[index].dueAt = uptime }
      return boundAddresses(of: device)
    case .own: return look(index, uptime)
    case .foreign:
      targets[index].quiet = .former(until: uptime + Self.recheckPause)
      guard targets[index].isLasting else { return }
    case .unlisted:
      targets[index].quiet = .all(until: uptime + Self.recheckPause)
      guard targets[index].isLasting else { return }
    case .avoided(let device):
      // It is dialled again once the user wants it.
      (targets[index].device, targets[index].isDoubted) = (device, false)
      return look(index, uptime)
    case .silent: targets[index].age = epochs > 0 ? (targets[index].age + 1) % epochs : 0
    case .unreached, .failed: break
    }
    plan(index, uptime, random)
  }

  /// Keeps a few addresses of one device before others: those heard of last.
  private mutating func boundAddresses(of device: Identifier) {
    let all = targets.indices.filter {
      !targets[$0].isLasting && targets[$0].device == device && targets[$0].standing == .linked
    }
    guard all.count > Self.deviceLimit, let oldest = all.min(by: { targets[$0].heardAt < targets[$1].heardAt }) else {
      return
    }
    targets[oldest].standing = .knocked
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
    targets[index].dueAt = targets[index].isLasting ? uptime + Self.recheckPause : nil
  }

  private mutating func plan(_ index: Int, _ uptime: Int64, _ random: UInt32) {
    // The next look-up of its name has it dialled again, if it is still an address of that.
    if targets[index].kind == .resolved, targets[index].standing != .linked { return }
    let pause = targets[index].pause
    // Between half and all of it, so that two devices do not go on dialling at the same moments.
    let jitter = pause / 2 + Int64(random) % (pause / 2 + 1)
    let isArranged = targets[index].kind == .arranged
    let longest = isArranged || targets[index].kind == .told ? Self.recheckPause : Self.longestPause
    // A server of ssh may shut out who fails often.
    targets[index].pause = min((isArranged ? 4 : 2) * pause, longest)
    let next = max(uptime + jitter, targets[index].isStatic ? uptime : soonest(targets[index], uptime))
    // Sooner, if the network has changed meanwhile.
    targets[index].dueAt = min(targets[index].dueAt ?? .max, next)
  }

  // MARK: Links

  /// Whether a device is linked, and its connection was not suspected of being dead since something was heard on it.
  public func isLinked(_ device: Identifier) -> Bool { linked.contains(device) }

  /// Whether a device that is linked has announced an address that was not known to lead to it, after it was linked: it
  /// has moved there, and may miss the link. A beacon with an address that has led to the device once tells nothing:
  /// the device may miss another one.
  /// - Parameter since: the uptime at which it was linked.
  public func hasMoved(_ device: Identifier, to address: Address, since: Int64) -> Bool {
    guard let target = targets.first(where: { $0.address == address }) else { return false }
    return (target.isDoubted || target.device != device) && target.heardAt > since
  }

  /// Whether an address is a better path to a linked device than that of its link, which is old enough to move (R14.1).
  public func isBetter(_ address: Address, for device: Identifier, _ uptime: Int64) -> Bool {
    guard let link = present.first(where: { $0.device == device }) else { return false }
    return cost(address) < link.cost && uptime - link.since >= Self.moveInterval
  }

  /// Whether an address is a worse path than that of the link with a device: true or false if one of the two begins
  /// with another device or a program, and so both ends see the same; nil: it does not matter.
  func isWorse(_ address: Address, for device: Identifier) -> Bool? {
    guard let link = present.first(where: { $0.device == device }) else { return nil }
    let cost = cost(address)
    guard (cost >= .relay) != (link.cost >= .relay) else { return nil }
    return cost > link.cost
  }

  /// The connection of a link, by whichever end it was dialled.
  public mutating func uses(_ address: Address, for device: Identifier, _ uptime: Int64) {
    present.removeAll { $0.device == device }
    let cost = cost(address)
    present.append(Present(device: device, address: address, cost: cost, since: uptime))
    for index in targets.indices where targets[index].device == device && targets[index].cost < cost {
      targets[index].dueAt = min(targets[index].dueAt ?? .max, soonest(targets[index], uptime))
    }
  }

  /// The last attempt at an address has failed.
  public mutating func note(_ failure: SegueError, at address: Address) {
    if let index = index(of: address) { targets[index].failure = failure }
  }

  /// The addresses that are known for a device, the cheapest first.
  public func paths(to device: Identifier) -> [DialledPath<Address>] {
    let known = targets.filter { $0.device == device }.map {
      DialledPath(
        address: $0.address, cost: $0.cost, isTrying: $0.isTrying, isAvoided: isAvoided($0.cost, to: device),
        failure: $0.obstacle ?? $0.failure)
    }
    return PathCost.all.flatMap { cost in known.filter { $0.cost == cost } }
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
    present.removeAll { $0.device == device }
    for index in targets.indices where targets[index].device == device && !targets[index].isTrying {
      targets[index].pause = Self.firstPause
      targets[index].heardAt = max(targets[index].heardAt, uptime)
      targets[index].dueAt = nil
      targets[index].improvements = Self.improvementLimit
      plan(index, uptime, random)
    }
  }
}
