// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The attempts: which address is dialled when, and what follows from their ends.
extension Dialler {
  /// The uptime at which `takeDue` has an address, or `outstayed` has; nil for none.
  public var nextDeadline: Int64? {
    targets.indices.compactMap { index in
      guard let dueAt = due(targets[index]) else { return nil }
      if mayTry(targets[index]) { return dueAt }
      return blockers(of: index).compactMap { targets[$0].patience }.min().map { max(dueAt, $0) }
    }.min()
  }

  /// Whether a link there may have to be made anew, although no beacon is sent while there is one.
  private func leadsToLinked(_ target: Target) -> Bool {
    target.device.map { links.contains($0) || links.suspects($0) } ?? false
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

  /// The addresses whose attempts the owner ends, so that others that are due have their turn.
  public func outstayed(_ uptime: Int64) -> [Address] {
    var ending: [Int] = []
    for index in targets.indices where due(targets[index]).map({ $0 <= uptime }) ?? false && !mayTry(targets[index]) {
      let late = blockers(of: index).filter { other in
        !ending.contains(other) && targets[other].patience.map { $0 <= uptime } ?? false
      }
      if let next = late.min(by: { targets[$0].endsBefore(targets[$1]) }) { ending.append(next) }
    }
    return ending.map { targets[$0].address }
  }

  /// When it is to be dialled; nil if it is not.
  private func due(_ target: Target) -> Int64? {
    guard !target.isTrying, target.obstacle == nil, !isAvoided(target), let planned = target.dueAt else { return nil }
    let dueAt = max(planned, turn(of: target))
    guard !target.isDoubted, let device = target.device, links.contains(device) else { return dueAt }
    if let since = improvedSince(target) { return max(dueAt, since + Self.moveInterval) }
    return target.isStatic ? max(dueAt, (target.triedAt ?? dueAt) + Self.recheckPause) : nil
  }

  /// The uptime from which on an attempt at its device may begin beside those that are under way.
  private func turn(of target: Target) -> Int64 {
    guard let device = target.device else { return .min }
    let begun = targets.compactMap { $0.isTrying && $0.device == device ? $0.triedAt : nil }
    return begun.max().map { $0 + Self.stagger } ?? .min
  }

  /// The uptime since which its device is linked by a worse path; nil: it is not, or enough attempts were made at it.
  private func improvedSince(_ target: Target) -> Int64? {
    guard target.improvements > 0, let link = links.link(with: target.device),
      target.cost < link.cost
    else { return nil }
    return link.since
  }

  /// Returns the next address to dial, and how many epochs back to knock; nil if none is due.
  public mutating func takeDue(_ uptime: Int64) -> (address: Address, age: Int)? {
    targets = targets.filter {
      $0.kind != .announced || $0.isTrying || leadsToLinked($0) || uptime - Self.announcedTime < $0.heardAt
    }
    let ready = targets.indices.filter { mayTry(targets[$0]) && due(targets[$0]).map { $0 <= uptime } ?? false }
    guard let index = ready.min(by: { targets[$0].hasTurn(before: targets[$1]) }) else { return nil }
    targets[index].begin(uptime)
    if let device = targets[index].device, links.contains(device) { targets[index].improvements -= 1 }
    return (targets[index].address, targets[index].age)
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
      targets[index].planLook(uptime)
      // It came up while a worse path was too young to be left.
      if improvedSince(targets[index]) != nil { targets[index].dueAt = uptime }
      return boundAddresses(of: device)
    case .own: return targets[index].planLook(uptime)
    case .foreign:
      targets[index].quiet = .former(until: uptime + Self.recheckPause)
      guard targets[index].isLasting else { return }
    case .unlisted:
      targets[index].quiet = .all(until: uptime + Self.recheckPause)
      guard targets[index].isLasting else { return }
    case .avoided(let device):
      // It is dialled again once the user wants it.
      (targets[index].device, targets[index].isDoubted) = (device, false)
      return targets[index].planLook(uptime)
    case .silent: targets[index].age = epochs > 0 ? (targets[index].age + 1) % epochs : 0
    case .unreached, .failed: break
    }
    targets[index].planAgain(uptime, random)
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
    targets[index].planAgain(uptime, random)
  }
}
