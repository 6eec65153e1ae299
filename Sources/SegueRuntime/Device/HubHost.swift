// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport
import SegueWire

/// The hub of this device, run by this process: connects a `HubDriver` to sockets and the loop. For the library thread.
final class HubHost {
  let generation: UInt64
  private let socket: HubSocket
  private let loop: Loop
  private let engine: HubEngine
  private lazy var driver = HubDriver(engine, in: self)
  private var listener: Watch?
  private var timer: LoopTimer?
  private var hasEnded = false
  /// See `Device.setSandboxLook`. Nil: this process looks itself.
  var sandboxLook: SandboxLook?
  /// Connections that wait for such a look.
  private var unknown: [(number: HubEngine.PeerNumber, fd: Int32)] = []

  /// Nil if another process runs the generation.
  convenience init?(
    _ generation: UInt64, in folder: RuntimeFolder, on loop: Loop, offersFrontmostOnly: Bool,
    agent: AgentDescription?
  ) throws(SegueError) {
    let id = try Randomness.identifier()
    guard let socket = try HubSocket(generation, in: folder) else { return nil }
    let engine = HubEngine(
      HubIdentity(id: id, deviceName: DeviceName.current), generation: generation,
      offersFrontmostOnly: offersFrontmostOnly, agent: agent, Clock.now)
    try self.init(engine, generation, at: socket, on: loop)
  }

  private init(_ engine: HubEngine, _ generation: UInt64, at socket: HubSocket, on loop: Loop) throws(SegueError) {
    self.generation = generation
    self.socket = socket
    self.loop = loop
    self.engine = engine
    do throws(SegueError) {
      try start()
    } catch {
      end(removingFiles: true)
      throw error
    }
  }

  private func start() throws(SegueError) {
    let timer = try LoopTimer()
    // Both keep this object until `end`.
    try timer.start(on: loop, for: self)
    self.timer = timer
    listener = try Watch(socket.fd, on: loop, for: self)
  }

  /// Whether its name in the folder still leads to it.
  var isNamed: Bool { socket.isNamed }

  /// Adds a link with the hub of another device.
  /// - Parameters:
  ///   - device: whose certificate was shown on it.
  ///   - make: makes the connection, which the hub then owns, from its number and what to call when the connection is
  ///     readable (true) or writable (false).
  /// Throws INVALID_STATE if this is no longer the hub, SYSTEM without random numbers.
  func addLink(
    of device: Identifier,
    _ make: (_ number: UInt64, _ ready: @escaping (_ isReadable: Bool) -> Void)
      -> any ByteConnection
  ) throws(SegueError) {
    guard !hasEnded else { throw SegueError(.invalidState, "this process is no longer the hub") }
    let secret = try Randomness.identifier()
    let number = driver.takeNumber()
    // The connection keeps the driver. The driver closes it at the end, and ignores a number that it has closed.
    let connection = make(number) { [driver] isReadable in
      if isReadable { driver.readable(number) } else { driver.writable(number) }
    }
    driver.addLink(connection, as: number, for: nil, device: device, secret: secret)
    driver.flush()
  }

  /// See `Device.setAccountHandler`.
  func setAccountHandler(_ handler: ((_ device: Identifier, _ message: [UInt8]?) -> [UInt8]?)?) {
    engine.trustHandler = handler
  }

  /// See `Device.setUnheardFailureHandler`.
  func setUnheardFailureHandler(_ handler: ((UnheardFailure) -> Void)?) { engine.unheardFailure = handler }

  /// See `Device.setManifests`.
  func setManifests(_ manifests: ((_ bundleIdentifier: String) -> AppManifest?)?) { engine.manifests = manifests }

  /// See `Device.setFolders`.
  func setFolders(_ text: [UInt8]) {
    guard !hasEnded else { return }
    engine.setFolders(text, now)
    driver.flush()
  }

  /// See `Device.setPageReasons`.
  func setPageReasons(_ reasons: ((AppIdentity, OfferDescription) -> [Message.Explanation])?) {
    engine.pageReasons = reasons
  }

  /// See `Device.setRetention`.
  func setRetention(_ retention: (any OfferRetention)?) { engine.setRetention(retention) }

  /// See `Device.setPrivacy`.
  func setPrivacy(_ isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?) {
    guard !hasEnded else { return }
    engine.setPrivacy(isPrivate, now)
    driver.flush()
  }

  /// See `Device.setDevices`.
  func setDevices(_ devices: AccountDevices?) {
    guard !hasEnded else { return }
    engine.setDevices(devices, now)
    driver.flush()
  }

  /// Sends a message about the account to a device, if it is linked.
  func sendAccount(_ message: [UInt8], to device: Identifier) {
    guard !hasEnded else { return }
    engine.sendAccount(message, to: device, now)
    driver.flush()
  }

  /// See `Device.setRelayHandler`.
  func setRelayHandler(_ handler: ((_ device: Identifier, _ frame: RelayFrame) -> Void)?) {
    engine.relayHandler = handler
  }

  /// See `Device.sendRelay`.
  func sendRelay(_ frames: [(frame: RelayFrame, device: Identifier)]) {
    guard !hasEnded else { return }
    engine.sendRelay(frames, now)
    driver.flush()
  }

  /// See `Device.unsent`.
  func unsent(to device: Identifier) -> Int { hasEnded ? 0 : engine.unsent(to: device) }

  /// See `Device.networkChanged`.
  func networkChanged() {
    guard !hasEnded else { return }
    engine.networkChanged(now)
    driver.flush()
  }

  /// See `Device.hub(at:)`.
  func hub(at number: UInt64) -> Identifier? { hasEnded ? nil : engine.hub(at: number) }

  /// Ends the links with a device, or with all (nil), and forgets what it offers.
  func endLinks(of device: Identifier?, _ error: SegueError) {
    guard !hasEnded else { return }
    engine.endLinks(of: device, error, now)
    driver.flush()
  }

  /// Writes the engine's output, as far as the sockets accept it.
  func flush() { driver.flush() }

  /// The process has no app left that needs it.
  func close() {
    let isLast = driver.close()
    while !driver.isClosed { waitForReaders() }
    end(removingFiles: isLast)
  }

  /// Waits until an app reads its last messages, or the driver has work.
  private func waitForReaders() {
    let connections = driver.allConnections.compactMap { $0.pollable }
    var waiting = connections.map { pollfd(fd: $0.fd, events: $0.isWriting ? Int16(POLLOUT) : 0, revents: 0) }
    let left = driver.nextDeadline.map { max(0, $0 - Clock.uptime) } ?? 0
    poll(&waiting, nfds_t(waiting.count), Int32(clamping: left))
    driver.tick()
    for (connection, poll) in zip(connections, waiting) where poll.revents != 0 {
      // A closed peer would stay writable for ever: a read reports its end.
      let isGone = poll.revents & (Int16(POLLERR) | Int16(POLLHUP)) != 0
      if isGone { driver.readable(connection.number) } else { driver.writable(connection.number) }
    }
  }

  /// A hub of a higher generation has taken over, and removes old files.
  func stepDown() {
    driver.stepDown()
    end(removingFiles: false)
  }

  private func end(removingFiles: Bool) {
    hasEnded = true
    listener?.close()
    timer?.close()
    for connection in unknown { Descriptors.closeConnection(connection.fd) }
    unknown = []
    driver.tearDown()
    socket.close(removingFiles: removingFiles)
  }
}

extension HubHost: WatchOwner, TimerOwner {
  func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) { driver.acceptConnections() }
  func timerIsDue(_ timer: LoopTimer) { driver.tick() }
}

extension HubHost: HubEnvironment {
  var now: Instant { Clock.now }
  var descriptorLimit: Int { Descriptors.limit }

  func accept(as number: HubEngine.PeerNumber) -> AcceptResult {
    switch socket.accept() {
    case .connection(let fd):
      switch PeerSandbox.glance(at: fd) {
      case .known(let standing): return accepted(fd, as: number, standing)
      case .hidden(let held):
        guard let sandboxLook else {
          defer { Descriptors.close(held) }
          return accepted(fd, as: number, PeerSandbox.look(at: held))
        }
        unknown.append((number, fd))
        // This object lives until the look is done.
        sandboxLook(held, Socket.peerProcess(fd)) { standing in self.looked(number, standing) }
        return .later
      }
    case .nobody: return .none
    case .exhausted: return .exhausted
    }
  }

  private func looked(_ number: HubEngine.PeerNumber, _ standing: PeerStanding) {
    guard let index = unknown.firstIndex(where: { $0.number == number }) else { return }
    if case .accepted(let accepted) = accepted(unknown.remove(at: index).fd, as: number, standing) {
      driver.admit(accepted, as: number)
    }
  }

  /// Takes over the socket.
  private func accepted(_ fd: Int32, as number: UInt64, _ standing: PeerStanding) -> AcceptResult {
    let process = Socket.peerProcess(fd)
    do throws(SegueError) {
      let connection = try connection(fd, as: number)
      let isOwn = process == getpid()
      return .accepted(
        AcceptedConnection(connection, process: process, isOwn: isOwn, descriptor: Int(fd), standing))
    } catch {
      Log.write(.error, "\(error.message)")
      return .exhausted
    }
  }

  func listen(_ isListening: Bool) { listener?.watch(reading: isListening, writing: false) }
  func setTimer(_ deadline: Int64?) { timer?.set(deadline) }
  func touchHeartbeat(_ uptime: Int64) { socket.beat(uptime) }

  func openLink(_ descriptor: PassedDescriptor, for request: LinkRequest) throws(SegueError) {
    let fd = descriptor.owned.take()
    guard Socket.isStream(fd) else {
      Descriptors.closeUntrusted(fd)
      throw SegueError(.malformed, "the descriptor that came with the link is no connected stream socket")
    }
    let number = driver.takeNumber()
    let connection = try connection(fd, as: number, isHanded: true)
    do throws(SegueError) {
      driver.addLink(connection, as: number, for: request, secret: try Randomness.identifier())
    } catch {
      connection.close()
      throw error
    }
  }

  func openStream(_ descriptor: PassedDescriptor, as number: UInt64) throws(SegueError) -> any StreamEndpoint {
    let fd = descriptor.owned.take()
    guard let socket = StreamSocket(fd) else {
      Descriptors.closeUntrusted(fd)
      throw SegueError(.malformed, "the descriptor that came with the stream is none")
    }
    return try endpoint(socket, as: number)
  }

  func makeStream(as number: UInt64) throws(SegueError) -> (near: any StreamEndpoint, far: PassedDescriptor) {
    let (near, far) = try StreamSocket.pair()
    let descriptor = OwnedDescriptor(far)
    return (try endpoint(near, as: number), descriptor)
  }

  /// Takes over the socket: if this throws, it has closed the socket.
  private func connection(
    _ fd: Int32, as number: UInt64, isHanded: Bool = false
  ) throws(SegueError) -> UnixConnection {
    do throws(SegueError) {
      return try UnixConnection(fd, as: number, isHanded: isHanded, on: loop, for: driver)
    } catch {
      Descriptors.closeConnection(fd, isShared: isHanded)
      throw error
    }
  }

  /// Takes over the socket: if this throws, it has closed the socket.
  private func endpoint(_ socket: StreamSocket, as number: UInt64) throws(SegueError) -> UnixStream {
    do throws(SegueError) {
      return try UnixStream(socket, as: number, on: loop, for: driver)
    } catch {
      Descriptors.closeUntrusted(socket.fd)
      throw error
    }
  }
}
