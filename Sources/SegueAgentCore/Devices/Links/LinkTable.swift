// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The connections of a device with the others of its account: whom it dials, how long a connection may take, which of
/// two with one device stays, and which devices are linked. No I/O, no clock, no randomness: its owner numbers the
/// connections, moves their bytes, and ends those that it is told to end.
public struct LinkTable<Address: Equatable> {
  public typealias End = Dialler<Address>.End

  private struct Entry {
    let number: UInt64
    /// The address that this device has dialled; nil: the other end has dialled.
    var dialled: Address?
    /// The address at the other end of a link.
    var address: Address?
    /// The uptime by which it must be a link, or ends because another one has taken its place.
    var deadline: Int64
    /// Whether its device is authenticated, and not listed.
    var isProvisional = false
    /// The device at the other end, and the uptime since which it is a link; nil before.
    var link: (peer: Identifier, since: Int64)?
    /// The link that it was before another connection with the same device took its place.
    var former: (peer: Identifier, since: Int64)?
  }

  /// Milliseconds for the hubs to move what they share to a link that has taken another one's place.
  public static var movingTime: Int64 { 2_000 }
  /// Milliseconds that an attempt has left when the network changes: it may come from an address that has gone.
  public static var changeTime: Int64 { 1_000 }

  /// The decision about a connection whose other end has shown its certificate.
  public enum Choice: Equatable, Sendable {
    /// The link that there is stays, and this connection ends.
    case refused
    /// The link that there is seems to be alive, and has changed hands too often: perhaps two machines are that device.
    case contested
    /// It becomes a link. The former link with the device ends before if both are made at the same time, else once the
    /// hubs have moved what they share (`movingTime`).
    case taken(replacing: UInt64?)
  }

  private let own: Identifier
  private var entries: [Entry] = []
  private var halfOpen = HalfOpenTable()
  private var dialler = Dialler<Address>()
  private var replacements = LinkReplacements()

  /// - Parameter own: this device.
  public init(own: Identifier) { self.own = own }

  // MARK: Links

  /// The devices that are linked; those alone of which something was heard since the network has changed.
  public var devices: [Identifier] { entries.compactMap { $0.link?.peer } }
  public var surelyLinked: [Identifier] { devices.filter { dialler.isLinked($0) } }

  /// The link with a device; nil if there is none.
  public func number(of device: Identifier) -> UInt64? { entries.first { $0.link?.peer == device }?.number }

  /// Whether a connection is a link, or was one before another has taken its place.
  public func isLink(_ number: UInt64) -> Bool {
    entries.contains { $0.number == number && ($0.link != nil || $0.former != nil) }
  }

  /// Whether a connection that this device has dialled leads to one with which there is a link, not suspected of being
  /// dead. It ends (`.linked`) before it shows anything of this device.
  public func isSuperfluous(_ number: UInt64, to peer: Identifier, _ uptime: Int64) -> Bool {
    guard dialler.isLinked(peer), !hasMoved(peer, to: number) else { return false }
    let address = entries.first { $0.number == number }?.dialled
    return !(address.map { dialler.isBetter($0, for: peer, uptime) } ?? false)
  }

  /// Whether a dialled connection leads to a linked device at an address that it has announced since it was linked.
  private func hasMoved(_ peer: Identifier, to number: UInt64) -> Bool {
    guard let address = entries.first(where: { $0.number == number })?.dialled,
      let link = entries.compactMap({ $0.link }).first(where: { $0.peer == peer })
    else { return false }
    return dialler.hasMoved(peer, to: address, since: link.since)
  }

  /// The uptime at which `takeDue` or `overdue` has something; nil for none.
  public var nextDeadline: Int64? {
    let dialled = entries.filter {
      $0.link == nil && ($0.dialled != nil || $0.former != nil || $0.isProvisional)
    }.map { $0.deadline }
    return [dialler.nextDeadline, halfOpen.nextDeadline, dialled.min()].compactMap { $0 }.min()
  }

  // MARK: Addresses

  /// Sets the addresses that the user has named.
  public mutating func setStatic(_ addresses: [Address], _ uptime: Int64) { dialler.setStatic(addresses, uptime) }

  /// The user has named an address as one of a device.
  public mutating func expect(_ device: Identifier, at address: Address) { dialler.expect(device, at: address) }

  /// See the functions of the same names of `Dialler`.
  public mutating func setTold(_ device: Identifier, _ addresses: [Address], best: Address?, _ uptime: Int64) {
    dialler.setTold(device, addresses, best: best, uptime)
  }
  public mutating func resolved(_ device: Identifier, _ addresses: [Address], _ uptime: Int64) {
    dialler.resolved(device, addresses, uptime)
  }
  public mutating func setArranged(_ device: Identifier, _ paths: [Address], _ uptime: Int64) {
    dialler.setArranged(device, paths, uptime)
  }
  public mutating func retry(_ device: Identifier, _ uptime: Int64) { dialler.retry(device, uptime) }
  public mutating func retryArranged(_ uptime: Int64) { dialler.retryArranged(uptime) }
  public mutating func setRelayed(
    _ device: Identifier, _ paths: [(address: Address, obstacle: SegueError?)], _ uptime: Int64
  ) {
    dialler.setRelayed(device, paths, uptime)
  }
  public mutating func setAvoided(_ device: Identifier, _ costs: [PathCost], _ uptime: Int64) {
    dialler.setAvoided(device, costs, uptime)
  }
  public func isAvoided(_ address: Address, to device: Identifier) -> Bool { dialler.isAvoided(address, to: device) }
  public mutating func forget(_ device: Identifier) { dialler.forget(device) }
  public mutating func setCosts(_ cost: @escaping (Address) -> PathCost) { dialler.setCosts(cost) }
  /// The addresses that are known for a device, the cheapest first.
  public func paths(to device: Identifier) -> [DialledPath<Address>] { dialler.paths(to: device) }
  /// The attempt of a connection has failed.
  public mutating func note(_ failure: SegueError, of number: UInt64) {
    if let address = entries.first(where: { $0.number == number })?.dialled { dialler.note(failure, at: address) }
  }

  /// A genuine beacon has announced an address (`Dialler.announced`).
  public mutating func announced(_ address: Address, from source: [UInt8], isFormer: Bool = false, _ uptime: Int64) {
    dialler.announced(address, from: source, isFormer: isFormer, uptime)
  }

  /// This device has another network or address, or it has woken up: all links may be dead, and all is dialled.
  /// The network has changed: an attempt that is under way and fails is made again soon.
  public mutating func networkChanged(_ uptime: Int64) {
    dialler.networkChanged(uptime)
    let (deadline, overflow) = uptime.addingReportingOverflow(Self.changeTime)
    guard !overflow else { return }
    for index in entries.indices where isAttempt(entries[index]) {
      entries[index].deadline = min(entries[index].deadline, deadline)
    }
  }

  private func isAttempt(_ entry: Entry) -> Bool { entry.dialled != nil && entry.link == nil && !entry.isProvisional }

  /// The list of devices has changed.
  public mutating func devicesChanged(_ uptime: Int64) { dialler.devicesChanged(uptime) }

  // MARK: Connections

  /// Returns the next address to dial, and how many epochs back to knock; nil if none is due. `dialled` or `undialled`
  /// follows.
  public mutating func takeDue(_ uptime: Int64) -> (address: Address, age: Int)? { dialler.takeDue(uptime) }

  /// A connection to an address that was due is on its way.
  /// - Parameter time: milliseconds until it must be a link.
  public mutating func dialled(
    _ address: Address, as number: UInt64, within time: Int64 = HalfOpenTable.time, _ uptime: Int64
  ) {
    entries.append(Entry(number: number, dialled: address, deadline: Self.deadline(uptime, time)))
  }

  /// An address that was due cannot be dialled.
  /// - Parameter random: drawn for this call.
  public mutating func undialled(
    _ address: Address, _ uptime: Int64, random: UInt32, failure: SegueError? = nil
  ) {
    if let failure { dialler.note(failure, at: address) }
    dialler.undialled(address, uptime, random: random)
  }

  /// A connection was accepted.
  public mutating func accepted(
    _ number: UInt64, from source: HalfOpenTable.Source, _ uptime: Int64
  ) -> HalfOpenTable.Admission {
    let admission = halfOpen.add(number, from: source, uptime)
    if admission != .refused { entries.append(Entry(number: number, dialled: nil, deadline: Self.deadline(uptime))) }
    return admission
  }

  private static func deadline(_ uptime: Int64, _ time: Int64 = HalfOpenTable.time) -> Int64 {
    let (deadline, overflow) = uptime.addingReportingOverflow(time)
    return overflow ? .max : deadline
  }

  /// Returns the connections that are no link in time: they end.
  public mutating func overdue(_ uptime: Int64) -> [UInt64] {
    let late = halfOpen.takeOverdue(uptime)
    let outstayed = dialler.outstayed(uptime)
    return entries.filter { entry in
      entry.link == nil
        && (late.contains(entry.number) || entry.deadline <= uptime
          || entry.dialled.map { outstayed.contains($0) } ?? false)
    }.map { $0.number }
  }

  /// The other end has proved the knock key.
  public mutating func knocked(_ number: UInt64) {
    halfOpen.knocked(number)
    if let address = entries.first(where: { $0.number == number })?.dialled { dialler.knocked(address) }
  }

  /// The other end has shown a certificate of the account, and is not listed: a roster that it brings may change that
  /// until a deadline.
  public mutating func hold(_ number: UInt64, until deadline: Int64) {
    halfOpen.remove(number)
    guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
    entries[index].isProvisional = true
    entries[index].deadline = deadline
  }

  /// Such a connection gets more time.
  public mutating func extend(_ number: UInt64, by time: Int64) {
    guard let index = entries.firstIndex(where: { $0.number == number && $0.isProvisional }) else { return }
    let (deadline, overflow) = entries[index].deadline.addingReportingOverflow(max(0, time))
    entries[index].deadline = overflow ? .max : deadline
  }

  /// Something was heard on a link.
  public mutating func heard(_ number: UInt64) {
    if let peer = entries.first(where: { $0.number == number })?.link?.peer { dialler.heard(peer) }
  }

  /// The end of an attempt, from the error with which its connection has failed.
  /// - Parameters:
  ///   - error: INVALID_STATE: a dialled one has led back to this device; NOT_ALLOWED: to one whose certificate does
  ///     not count.
  ///   - isChallenged: whether the other end has asked for a knock.
  ///   - hasKnocked: whether it has proved the knock key.
  public static func end(of error: SegueError, isDialled: Bool, isChallenged: Bool = true, hasKnocked: Bool) -> End {
    if isDialled, error.status == .invalidState { return .own }
    if isDialled, hasKnocked, error.status == .notAllowed { return .foreign }
    if hasKnocked { return .failed }
    return isChallenged ? .silent : .unreached
  }

  /// The other end of a connection has shown the certificate of a device that belongs to the account.
  /// - Parameters:
  ///   - address: that of the other end; nil: it is not known.
  ///   - hub: at the other end of the link that there is with that device; nil if it has not said so.
  public mutating func choice(
    for number: UInt64, of peer: Identifier, at address: Address? = nil, hub: Identifier? = nil, _ uptime: Int64
  ) -> Choice {
    guard let former = entries.first(where: { $0.link?.peer == peer }), let link = former.link else {
      return .taken(replacing: nil)
    }
    // One that is suspected of being dead is no link that anybody fights for.
    guard dialler.isLinked(peer) else { return .taken(replacing: former.number) }
    let isDialled = entries.contains { $0.number == number && $0.dialled != nil }
    let (age, isWorse) = (uptime - link.since, address.flatMap { dialler.isWorse($0, for: peer) })
    var replaces = LinkChoice.replaces(
      own: own, peer: peer, isDialled: isDialled, wasDialled: former.dialled != nil, age: age)
    // The better of two that are made at once stays, whoever has dialled it.
    if let isWorse, age < LinkChoice.sameTime { replaces = !isWorse }
    guard replaces || hasMoved(peer, to: number) else { return .refused }
    return replacements.take(peer, hub: hub, uptime) ? .taken(replacing: former.number) : .contested
  }

  /// Whether a link is so new that the other device may be dialling this one at the same time.
  public func isNew(_ number: UInt64, _ uptime: Int64) -> Bool {
    entries.contains { $0.number == number && $0.link.map { uptime - $0.since < LinkChoice.sameTime } ?? false }
  }

  /// Whether another link has taken the place of a connection.
  public func isReplaced(_ number: UInt64) -> Bool { entries.contains { $0.number == number && $0.former != nil } }

  /// A connection is a link now. The one whose place it takes ends after `movingTime`, if it was not removed before.
  /// - Parameter address: that of the other end; nil: it is not known.
  public mutating func linked(
    _ number: UInt64, with peer: Identifier, at address: Address? = nil, epochs: Int, _ uptime: Int64, random: UInt32
  ) {
    halfOpen.linked(number)
    guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
    for other in entries.indices where entries[other].link?.peer == peer {
      entries[other].former = entries[other].link
      (entries[other].link, entries[other].dialled) = (nil, nil)
      let (deadline, overflow) = uptime.addingReportingOverflow(Self.movingTime)
      entries[other].deadline = overflow ? .max : deadline
    }
    entries[index].link = (peer, uptime)
    entries[index].address = entries[index].dialled ?? address
    if let used = entries[index].address { dialler.uses(used, for: peer, uptime) }
    guard let address = entries[index].dialled else { return dialler.linked(peer) }
    dialler.ended(address, .linked(peer), epochs: epochs, uptime, random: random)
  }

  /// A connection has ended, or its owner uses it for something else: a device that joins.
  /// - Parameter end: the end of an attempt; it does not count for a link, and for a connection that was accepted.
  /// - Returns: the device that it was a link with; nil for none, and if the link whose place it took is still there.
  @discardableResult
  public mutating func remove(
    _ number: UInt64, _ end: End = .failed, epochs: Int, _ uptime: Int64, random: UInt32
  ) -> Identifier? {
    halfOpen.remove(number)
    guard let index = entries.firstIndex(where: { $0.number == number }) else { return nil }
    let entry = entries.remove(at: index)
    if let peer = entry.link?.peer {
      if let index = entries.lastIndex(where: { $0.former?.peer == peer }) {
        (entries[index].link, entries[index].former) = (entries[index].former, nil)
        if let used = entries[index].address { dialler.uses(used, for: peer, uptime) }
        return nil
      }
      dialler.unlinked(peer, uptime, random: random)
      return peer
    }
    if let address = entry.dialled { dialler.ended(address, end, epochs: epochs, uptime, random: random) }
    return nil
  }
}
