import CLinux
import SegueApp
import SegueAgentCore
import SegueEngine
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport

/// The agent's second socket, `control` in a folder of its own beside the runtime folder: what is not for every app
/// that has the runtime folder, such as approving a device, is asked here. A sandbox that is given the runtime folder
/// cannot reach it, and only processes of this user may connect. For the loop.
final class ControlSocket {
  /// Connections at a time; of one process a quarter. Further ones get goodbye.
  static let connectionLimit = 16
  /// Connections that are accepted in one turn.
  private static let turn = 16
  /// Milliseconds until it accepts again after the system has refused to.
  private static let acceptPause: Int64 = 250

  private let fd: Int32
  private let loop: Loop
  private let requests: ControlRequests
  private let quota = RequestQuota()
  private var listener: Watch?
  private var timer: LoopTimer?
  private var peers: [ControlPeer] = []
  /// The uptime from which on it accepts again; nil: it does.
  private var acceptsAt: Int64?
  private var lastNumber: UInt64 = 0

  /// Creates the folder unless it is there, and listens in it.
  /// Throws UNSAFE_FOLDER if another user may enter it, SYSTEM.
  convenience init(in folder: String, on loop: Loop, _ requests: ControlRequests) throws(SegueError) {
    let directory = try PrivateFolder.open(folder, "the agent's folder")
    defer { _ = CLinux.close(directory) }
    try self.init(try ListeningSocket.make("control", in: directory, folder), on: loop, requests)
  }

  private init(_ fd: Int32, on loop: Loop, _ requests: ControlRequests) throws(SegueError) {
    self.fd = fd
    self.loop = loop
    self.requests = requests
    do throws(SegueError) {
      let timer = try LoopTimer()
      // `close` is called before this object is released.
      try timer.start(on: loop) { [unowned(unsafe) self] in self.tick() }
      self.timer = timer
      listener = try Watch(fd, on: loop) { [unowned(unsafe) self] _, _ in self.accept() }
    } catch {
      close()
      throw error
    }
  }

  func close() {
    listener?.close()
    listener = nil
    timer?.close()
    for peer in peers { peer.close() }
    peers = []
    ListeningSocket.close(fd)
  }

  private func accept() {
    for _ in 0..<Self.turn {
      let connection = linux_accept(fd)
      guard connection >= 0 else {
        // Without a descriptor it would stay readable for ever; the agent may open as many as the system allows.
        if ![EAGAIN, EINTR, ECONNABORTED].contains(linux_errno()) { pause() }
        return
      }
      admit(connection)
    }
  }

  /// Takes over the connection.
  private func admit(_ connection: Int32) {
    guard Socket.isOfThisUser(connection) else {
      Log.error("control: refused process \(Socket.peerProcess(connection)), which is another user's")
      return Descriptors.closeConnection(connection)
    }
    let process = Socket.peerProcess(connection)
    let principal = Principal.process(process)
    if let refusal = refusal(of: principal) {
      Log.error("control: refused process \(process): \(refusal.message)")
      return ControlPeer.refuse(connection, refusal)
    }
    lastNumber += 1
    let client = ControlClient(number: lastNumber, principal: principal)
    do throws(SegueError) {
      peers.append(
        // `close` closes all peers before this object is released, and a closed one calls none of these.
        try ControlPeer(
          connection, of: client, on: loop, requests, quota, changed: { [unowned(unsafe) self] in self.setTimer() }
        ) { [unowned(unsafe) self] peer in
          self.peers.removeAll { $0 === peer }
          self.setTimer()
        })
      setTimer()
    } catch {
      Log.error("control: \(error.message)")
    }
  }

  /// Nil if there is room for a connection. Those that the other side has closed make room at once: the loop may learn
  /// of a new connection before it learns of their end.
  private func refusal(of principal: Principal) -> SegueError? {
    guard let refusal = refusalNow(of: principal) else { return nil }
    guard dropClosed() else { return refusal }
    return refusalNow(of: principal)
  }

  /// - Returns: whether there was one.
  private func dropClosed() -> Bool {
    let closed = peers.filter { $0.isClosedByPeer }
    for peer in closed { peer.end() }
    return !closed.isEmpty
  }

  private func refusalNow(of principal: Principal) -> SegueError? {
    let share = Self.connectionLimit / Principal.share
    guard peers.count(where: { $0.principal == principal }) < share else {
      return SegueError(.limitExceeded, "control: \(share) connections of this process are there, which is the most")
    }
    guard peers.count < Self.connectionLimit else {
      return SegueError(.limitExceeded, "control: \(Self.connectionLimit) connections are there, which is the most")
    }
    return nil
  }

  private func pause() {
    listener?.watch(reading: false, writing: false)
    acceptsAt = Clock.uptime + Self.acceptPause
    setTimer()
  }

  private func setTimer() { timer?.set((peers.map { $0.deadline } + [acceptsAt].compactMap { $0 }).min()) }

  private func tick() {
    let now = Clock.uptime
    for peer in peers where peer.deadline <= now { peer.expire() }
    if let at = acceptsAt, at <= now {
      acceptsAt = nil
      listener?.watch(reading: true, writing: false)
    }
    setTimer()
  }
}
