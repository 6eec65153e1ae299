// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The addresses that are dialled: where they come from, and when they are forgotten.
extension Dialler {
  /// Sets the addresses that the user has named. It is looked again where they lead.
  public mutating func setStatic(_ addresses: [Address], _ uptime: Int64) {
    targets.removeAll { target in target.isStatic && !addresses.contains { $0 == target.address } }
    for address in addresses {
      if let index = index(of: address) {
        guard !targets[index].isStatic else {
          targets[index].isDoubted = true
          targets[index].planSoon(uptime)
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
      targets[index].planSoon(uptime)
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
        targets[index].planSoon(uptime)
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
      targets[index].planSoon(uptime)
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
    links.setCosts(cost)
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
      targets[index].planSoon(uptime)
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
    links.suspectAll()
    for index in targets.indices {
      targets[index].pause = Self.firstPause
      targets[index].quiet = .none
      // A change is no reason to start programs again and again.
      targets[index].dueAt = targets[index].kind == .arranged ? targets[index].soonest(uptime) : uptime
      targets[index].improvements = Self.improvementLimit
    }
  }

  /// The list of devices has changed: it may have one that was refused.
  public mutating func devicesChanged(_ uptime: Int64) {
    for index in targets.indices {
      guard case .all = targets[index].quiet else { continue }
      targets[index].quiet = .none
      targets[index].planSoon(uptime)
    }
  }
}
