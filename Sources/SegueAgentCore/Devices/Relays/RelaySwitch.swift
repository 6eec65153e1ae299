// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// This device as a relay (R14.3): splices a channel of one device with one of another, and passes bytes and credit on.
/// It holds no bytes itself: those that have come go out at once, and no more come than were granted. A sender that
/// uses all that it may send gets more, as far as there is room (`RelayRoom`), and less once the other end does not
/// read. No I/O, no clock: its owner takes what `outgoing` has, and sends it.
struct RelaySwitch {
  /// Milliseconds until the other device must have taken a channel.
  static let openingTime: Int64 = 5_000
  /// Milliseconds between two looks at credit that is held back.
  static let creditPause: Int64 = 20
  /// Bytes that wait for a device, above which the others get no credit to send it more.
  static let unsentLimit = 32 * 1024

  /// One of the two channels that are spliced.
  private struct End {
    let device: Identifier
    let channel: UInt32
    /// The bytes that come from here.
    var window = RelayWindow()
    /// The bytes beyond those that are consumed which this end may send.
    var size = RelayWindow.size
    /// The bytes from here that the other end has consumed, if this end was not told yet; and whether that waits.
    var consumed: UInt64?
    var isHeld = false
  }

  private struct Splice {
    /// The one that has opened it, then the other.
    var ends: [End]
    var isOpened = false
    /// The uptime by which the other device must have taken it.
    let deadline: Int64
  }

  /// The answer to a device that has asked for another one.
  enum Decision {
    case opened(Identifier, to: Identifier)
    case refused(Identifier, to: Identifier, RelayEnd)
  }

  private var splices: [Splice] = []
  /// The uptime of the next look at credit that is held back, if there is any.
  private var looksAt: Int64 = 0
  private var decision: Decision?
  private var allowance = RelayAllowance()
  /// The number of the next channel to a device: even ones are the relay's.
  private var nextChannel: UInt32
  /// Whether the user has switched it on.
  private(set) var isOn = false
  /// The devices that are linked, and not through a relay.
  private(set) var direct: [Identifier] = []
  /// Those that are linked through a relay.
  private var indirect: [Identifier] = []
  /// Bytes that wait at this device for another one.
  private let unsent: (Identifier) -> Int
  private(set) var outgoing: [(message: RelayMessage, device: Identifier)] = []

  /// - Parameter number: a random one, so that a channel is none of a former process.
  init(after number: UInt64, unsent: @escaping (Identifier) -> Int) {
    nextChannel = UInt32(truncatingIfNeeded: number >> 34) & ~1 + 2
    self.unsent = unsent
  }

  var count: Int { splices.count }

  /// The promise that it has broken; nil: none. A test reads it after each step.
  var broken: StaticString? {
    if !isOn, !splices.isEmpty { return "a device that is no relay passes bytes on" }
    for splice in splices {
      let opener = splice.ends[0].device
      if splices.count(where: { $0.ends[0].device == opener }) > RelayAllowance.channelsOfDevice {
        return "a device has opened more channels through a relay than it may"
      }
      for end in splice.ends {
        if !direct.contains(end.device) { return "a relay passes on what comes or goes over no link of its own" }
        if end.window.pending > RelayWindow.largest { return "a relay holds more of a channel than its window" }
      }
    }
    let extra = splices.flatMap { $0.ends }.reduce(0) { $0 + $1.window.extra }
    return extra > RelayRoom.size ? "a relay has allowed more bytes than it has room for" : nil
  }

  // MARK: The role

  /// - Returns: whether it has changed.
  mutating func set(isOn: Bool) -> Bool {
    guard isOn != self.isOn else { return false }
    self.isOn = isOn
    if !isOn { for splice in splices { end(splice, .off) } }
    return true
  }

  /// The links of this device have changed: channels over links that are no longer there, or go through a relay
  /// themselves now, end.
  /// - Returns: whether others are to be told.
  mutating func setLinked(direct: [Identifier], indirect: [Identifier]) -> Bool {
    let isNews = direct != self.direct
    (self.direct, self.indirect) = (direct, indirect)
    for splice in splices where !splice.ends.allSatisfy({ direct.contains($0.device) }) { end(splice, .cut) }
    return isNews && isOn
  }

  /// The role of this device, as it tells the others.
  var role: RelayMessage { .role(isRelaying: isOn, linked: isOn ? direct : []) }

  // MARK: Messages

  /// A device has sent a step of one of its channels.
  mutating func take(_ step: RelayStep, _ channel: UInt32, from device: Identifier, _ uptime: Int64) {
    guard let (index, side) = find(channel, of: device) else {
      switch step {
      case .open(let other): open(channel, from: device, to: other, uptime)
      // An end that is told nothing would hold it for ever.
      case .opened, .data, .credit: send(.closed(.unknown), channel, to: device)
      case .closed: break
      }
      return
    }
    let splice = splices[index]
    let other = splice.ends[1 - side]
    switch step {
    // It comes twice while a link moves.
    case .open: break
    case .opened:
      guard side == 1, !splice.isOpened else { return }
      splices[index].isOpened = true
      decision = .opened(other.device, to: device)
      send(.opened, other.channel, to: other.device)
    case .data(let offset, let bytes):
      guard splice.isOpened else { return end(splice, .violated) }
      switch splices[index].ends[side].window.take(offset, bytes.count) {
      case .repeated: break
      case .wrong(let reason): end(splice, reason)
      case .next(let repeated):
        let news = bytes.dropFirst(repeated)
        allowance.charge(device, news.count, uptime)
        send(.data(offset + UInt64(repeated), news), other.channel, to: other.device)
      }
    case .credit(let consumed, limit: _):
      guard other.window.isPossible(consumed) else { return end(splice, .violated) }
      // Credit in smaller parts, or again, would cost the other one more than it is worth.
      guard consumed >= max(other.window.granted, other.consumed ?? 0) + RelayWindow.step else { return }
      splices[index].ends[1 - side].consumed = consumed
      grant(index, 1 - side, uptime)
    case .closed(let reason):
      splices.remove(at: index)
      send(.closed(reason.isOfDevice ? reason : .ended), other.channel, to: other.device)
    }
  }

  private func find(_ channel: UInt32, of device: Identifier) -> (index: Int, side: Int)? {
    for (index, splice) in splices.enumerated() {
      for side in 0...1 where splice.ends[side].channel == channel && splice.ends[side].device == device {
        return (index, side)
      }
    }
    return nil
  }

  private mutating func open(_ channel: UInt32, from device: Identifier, to other: Identifier, _ uptime: Int64) {
    if let reason = refusal(channel, from: device, to: other, uptime) {
      decision = .refused(device, to: other, reason)
      return send(.closed(reason), channel, to: device)
    }
    let far = End(device: other, channel: nextChannel)
    nextChannel = nextChannel < UInt32.max / 2 - 2 ? nextChannel + 2 : 2
    splices.append(Splice(ends: [End(device: device, channel: channel), far], deadline: uptime + Self.openingTime))
    send(.open(device), far.channel, to: other)
  }

  private mutating func refusal(
    _ channel: UInt32, from device: Identifier, to other: Identifier, _ uptime: Int64
  ) -> RelayEnd? {
    guard allowance.opens(device, uptime) else { return .tooOften }
    guard isOn else { return .off }
    // Even numbers are the relay's.
    guard channel & 1 == 1, device != other else { return .violated }
    guard direct.contains(device), !indirect.contains(other) else { return .secondHop }
    guard direct.contains(other) else { return .notLinked }
    let own = splices.filter { $0.ends[0].device == device }
    guard splices.count < RelayAllowance.channels, own.count < RelayAllowance.channelsOfDevice,
      own.count(where: { $0.ends[1].device == other }) < RelayAllowance.channelsOfTwo
    else { return .tooMany }
    // Bytes of channels that have ended are in no window, and may still wait.
    guard max(unsent(device), unsent(other)) <= Int(RelayRoom.size) else { return .tooMany }
    return nil
  }

  /// Tells an end that bytes of it were consumed, unless it has sent too much lately, or the other one does not read:
  /// then it waits.
  private mutating func grant(_ index: Int, _ side: Int, _ uptime: Int64) {
    var end = splices[index].ends[side]
    guard let consumed = end.consumed else { return }
    guard allowance.sendsAt(end.device) <= uptime, unsent(splices[index].ends[1 - side].device) <= Self.unsentLimit
    else {
      // Later credit does not put off the look.
      if looksAt <= uptime { looksAt = uptime + Self.creditPause }
      splices[index].ends[side].isHeld = true
      return
    }
    if end.isHeld {
      end.size = max(end.size / 2, RelayWindow.size)
    } else if end.window.isUsed {
      end.size = min(2 * end.size, RelayWindow.largest)
    } else {
      end.size = max(end.size - RelayWindow.step, RelayWindow.size)
    }
    (end.consumed, end.isHeld) = (nil, false)
    if end.size > RelayWindow.size { end.size = min(end.size, RelayWindow.size + room(beside: index, side).share) }
    end.window.grant(consumed, end.size)
    splices[index].ends[side] = end
    send(.credit(consumed, limit: end.window.limit), end.channel, to: end.device)
  }

  /// The room that the other ends leave to one.
  private func room(beside index: Int, _ side: Int) -> RelayRoom {
    var room = RelayRoom()
    let device = splices[index].ends[side].device
    for (number, splice) in splices.enumerated() {
      for each in 0...1 where number != index || each != side {
        room.take(splice.ends[each].window.extra, isOfDevice: splice.ends[each].device == device)
      }
    }
    return room
  }

  private mutating func end(_ splice: Splice, _ reason: RelayEnd) {
    splices.removeAll { $0.ends[0].channel == splice.ends[0].channel && $0.ends[0].device == splice.ends[0].device }
    for end in splice.ends where direct.contains(end.device) { send(.closed(reason), end.channel, to: end.device) }
  }

  private mutating func send(_ step: RelayStep, _ channel: UInt32, to device: Identifier) {
    outgoing.append((.fromRelay(channel, step), device))
  }

  /// The last answer to a device, once.
  mutating func takeDecision() -> Decision? {
    let last = decision
    decision = nil
    return last
  }

  mutating func takeOutgoing() -> [(message: RelayMessage, device: Identifier)] {
    let all = outgoing
    outgoing = []
    return all
  }

  // MARK: Time

  /// The uptime at which `tick` has something to do; nil: at none.
  var nextDeadline: Int64? {
    var next: Int64?
    for splice in splices {
      if !splice.isOpened { next = min(next ?? .max, splice.deadline) }
      for end in splice.ends where end.consumed != nil {
        next = min(next ?? .max, max(looksAt, allowance.sendsAt(end.device)))
      }
    }
    return next
  }

  mutating func tick(_ uptime: Int64) {
    for splice in splices where !splice.isOpened && splice.deadline <= uptime { end(splice, .refused) }
    for index in splices.indices { for side in 0...1 { grant(index, side, uptime) } }
  }
}
