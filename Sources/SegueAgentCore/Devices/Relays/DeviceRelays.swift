// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// Connections between two devices of the account through a third one (R14.3): this device as one of the two, and as
/// the one in the middle. What the three say about them crosses the links of the one in the middle as messages about
/// the account do, and waits for no thread. For one thread.
final class DeviceRelays: AgentTimerOwner {
  /// The turn in which all that waits is handled.
  private enum Turn {
    case none
    /// The turn was asked for.
    case posted
    /// The turn is under way. All that is to be sent is sent at its end.
    case underWay
  }

  private let environment: any AgentEnvironment
  private let hub: any LinkHub
  /// Nil once it is closed.
  private var timer: (any AgentTimer)?
  /// The links of this device; nil without an account. Set by the owner, which takes them away before they close.
  var links: DeviceLinks?
  private var relay: RelaySwitch
  private var directory = RelayDirectory()
  private var arrivals = RelayArrivals()
  private var outgoing: [(message: RelayMessage, device: Identifier)] = []
  /// Devices with which a session of the hubs has begun or resumed.
  private var begun: [Identifier] = []
  private var turn = Turn.none
  /// Work of the sockets at the end of this turn; nil between turns.
  private var due: [() -> Void]?
  private(set) lazy var sockets = RelayedSockets(after: number, of: self)
  private let number: UInt64
  /// Rations the lines of the log about requests that are refused, and messages that cannot be read.
  private var lines = RateLimiter(burst: 8)
  /// The names of the devices.
  var names: [(device: Identifier, name: String)] = []

  /// - Parameter number: a random one, so that a channel is none of a former process.
  init(_ hub: any LinkHub, in environment: any AgentEnvironment, after number: UInt64) {
    (self.hub, self.environment, self.number) = (hub, environment, number)
    relay = RelaySwitch(after: number) { device in hub.unsent(to: device) }
  }

  /// Throws SYSTEM.
  func open() throws(SegueError) {
    // `close` ends both, and has the hub let go of this object.
    timer = try environment.makeTimer(for: self)
    hub.setRelayHandler { [self] device, frame in heard(.frame(frame), from: device) }
  }

  /// Ends what `open` has begun. No call may follow.
  func close() {
    hub.setRelayHandler(nil)
    timer?.close()
    timer = nil
  }

  /// The connections that pass through this device now.
  var splices: Int { relay.count }
  /// The messages and frames that wait for a turn. A test reads it.
  var waitingCount: Int { arrivals.count }
  /// The promise that is broken; nil: none. A test reads it after each step.
  var broken: StaticString? { relay.broken ?? sockets.broken(relay.direct) }

  // MARK: The role

  /// The user has switched it on or off.
  func set(isOn: Bool) {
    guard relay.set(isOn: isOn) else { return }
    tellAll()
    schedule()
  }

  private func tellAll() { for device in relay.direct { outgoing.append((relay.role, device)) } }

  /// The links of this device have changed.
  func linksChanged() {
    guard let links else {
      _ = relay.setLinked(direct: [], indirect: [])
      directory.keep([])
      return sockets.keep([])
    }
    let all = links.devices
    let direct = all.filter { links.isDirect($0) }
    if relay.setLinked(direct: direct, indirect: all.filter { !direct.contains($0) }) { tellAll() }
    directory.keep(direct)
    sockets.keep(direct)
    offerPaths()
    schedule()
  }

  /// Has the paths through relays dialled.
  private func offerPaths() {
    links?.setRelays(relay.direct.filter { directory.knows($0) }) { relay, device in
      directory.obstacle(of: relay, to: device).map { $0.error(name(of: relay), name(of: device)) }
    }
  }

  /// The linked devices that have not said that they pass bytes on, as paths to one that is not linked.
  func idle(for device: Identifier) -> [PathReport] {
    relay.direct.filter { !directory.knows($0) && $0 != device }.map { other in
      let error = RelayEnd.off.error(name(of: other), name(of: device))
      return PathReport(
        address: String(joining: "through \(name(of: other))"), cost: .relay, state: .failed(error.message))
    }
  }

  // MARK: Messages

  /// A session with a device has begun, or resumes. The hub must not be called from here, nor from the next one.
  func began(_ device: Identifier) {
    begun.append(device)
    schedule()
  }

  /// A device has said something about a relay.
  func heard(_ message: [UInt8], from device: Identifier) { heard(.message(message), from: device) }

  private func heard(_ arrival: RelayArrivals.Arrival, from device: Identifier) {
    if arrivals.take(arrival, from: device) { schedule() }
  }

  private func schedule() {
    guard turn == .none, timer != nil else { return }
    turn = .posted
    environment.post { [self] in
      turn = .none
      if timer != nil { handle() }
    }
  }

  /// Handles all that waits, and sends what follows.
  private func handle() {
    let all = arrivals.takeAll()
    due = []
    turn = .underWay
    for (arrival, device) in all { take(arrival, from: device) }
    // Once in a turn, however many roles were told.
    if directory.takeNews() { offerPaths() }
    let begun = self.begun
    self.begun = []
    if relay.isOn { for device in begun where relay.direct.contains(device) { outgoing.append((relay.role, device)) } }
    // Bytes that go on have come first: those that end here can take longer.
    send()
    let bodies = due ?? []
    due = nil
    for body in bodies { body() }
    send()
    turn = .none
    // Sending may have ended links.
    if arrivals.count > 0 || !self.begun.isEmpty || !outgoing.isEmpty || !relay.outgoing.isEmpty { schedule() }
  }

  private func take(_ arrival: RelayArrivals.Arrival, from device: Identifier) {
    // Nothing that a revoked device says counts.
    guard let links, links.certificate(of: device) != nil else { return }
    switch arrival {
    case .frame(let frame): take(RelayMessage(frame), from: device, links)
    case .message(let encoding):
      guard let message = try? RelayMessage(encoding) else {
        guard lines.take(at: environment.uptime) else { return }
        return environment.log(.info, "\(name(of: device)) says of a relay what cannot be read")
      }
      take(message, from: device, links)
    }
  }

  private func take(_ message: RelayMessage, from device: Identifier, _ links: DeviceLinks) {
    switch message {
    case .role(let isRelaying, let linked):
      directory.set(device, isRelaying: isRelaying, linked: linked)
    case .toRelay(let channel, let step):
      relay.take(step, channel, from: device, environment.uptime)
      log(relay.takeDecision())
    case .fromRelay(let channel, let step):
      sockets.take(step, channel, from: device) { socket in
        let path = LinkPath.relay(through: device, to: socket.device)
        guard links.takes(path) else { return false }
        links.admit(socket, path)
        return true
      }
    }
  }

  private func log(_ decision: RelaySwitch.Decision?) {
    switch decision {
    case .opened(let device, to: let other):
      environment.log(.info, "\(name(of: device)) reaches \(name(of: other)) through this device")
    case .refused(let device, to: let other, let reason):
      guard lines.take(at: environment.uptime) else { return }
      let error = reason.error("this device", name(of: other))
      environment.log(.info, "\(name(of: device)) does not reach \(name(of: other)): \(error.message)")
    case nil: break
    }
  }

  private func send() {
    var frames: [(frame: RelayFrame, device: Identifier)] = []
    for (message, device) in relay.takeOutgoing() + takeOutgoing() {
      switch try? message.form {
      case .frame(let frame): frames.append((frame, device))
      case .message(let encoding):
        // In order.
        if !frames.isEmpty { hub.sendRelay(frames) }
        frames = []
        hub.sendAccount(encoding, to: device)
      case nil: break
      }
    }
    if !frames.isEmpty { hub.sendRelay(frames) }
    timer?.set(relay.nextDeadline)
  }

  private func takeOutgoing() -> [(message: RelayMessage, device: Identifier)] {
    let all = outgoing
    outgoing = []
    return all
  }

  func timerIsDue(_ timer: any AgentTimer) {
    relay.tick(environment.uptime)
    send()
  }
}

extension DeviceRelays: RelayedSocketsOwner {
  func later(_ body: @escaping () -> Void) {
    if due == nil { environment.post(body) } else { due?.append(body) }
  }

  func send(_ message: RelayMessage, through relay: Identifier) {
    outgoing.append((message, relay))
    schedule()
  }

  func name(of device: Identifier) -> String {
    names.first { $0.device == device }?.name ?? device.fingerprint
  }
}
