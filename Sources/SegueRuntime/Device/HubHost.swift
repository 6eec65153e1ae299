import CLinux
import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// The hub of this device, run by this process: joins a `HubEngine` to sockets. For the library thread.
final class HubHost {
  let generation: UInt64
  private let socket: HubSocket
  private let loop: Loop
  private let engine: HubEngine
  private var listening: Watch?
  private var timer: LoopTimer?
  private var connections: [HubEngine.PeerNumber: Connection] = [:]
  private var nextNumber: HubEngine.PeerNumber = 1
  /// How many connections each process has.
  private var processes: [Int32: Int] = [:]
  /// Streams that cross links.
  private var ferries: [Ferry] = []
  /// Uptime at which it listens again.
  private var listensAt: Int64?
  /// Uptime at which what the system has refused to send is sent again.
  private var writesAt: Int64?

  /// Milliseconds in which it does not listen because the system has nothing left for a connection.
  private static let pause: Int64 = 250
  /// Milliseconds in which nothing is sent to those for whom the system had nothing left.
  private static let writePause: Int64 = 50
  /// Milliseconds that apps have to read what they are told last.
  private static let lastWordsTime: Int64 = 250
  /// Reads of each connection for what its app said last: as much as the largest socket holds, and its end.
  private static let lastReads = 8

  /// Reads of a connection before others have their turn.
  private static let readsInTurn = 4

  /// Of the descriptors that this process may have: the share that is left to itself, and that which connections of one
  /// process may take.
  private static let ownShare = 4
  private static let processShare = 4
  private static let acceptsAtOnce = 64

  private final class Connection {
    let fd: Int32
    /// At its other end; nil: it is a link.
    let process: Int32?
    var watch: Watch?
    /// The system has refused to send.
    var isRefused = false
    init(fd: Int32, process: Int32?) {
      self.fd = fd
      self.process = process
    }

    func close() {
      watch?.close()
      Descriptors.closeUntrusted(fd)
    }
  }

  /// Nil: another process runs the generation.
  init?(
    _ generation: UInt64, in folder: RuntimeFolder, on loop: Loop, offersFrontmostOnly: Bool
  ) throws(SegueError) {
    let id = try Randomness.identifier()
    guard let socket = try HubSocket(generation, in: folder) else { return nil }
    self.generation = generation
    self.socket = socket
    self.loop = loop
    engine = HubEngine(
      HubIdentity(id: id, deviceName: DeviceName.current), generation: generation,
      offersFrontmostOnly: offersFrontmostOnly, Clock.now)
    do throws(SegueError) {
      try startTimer()
      try listen()
    } catch {
      end(removingFiles: true)
      throw error
    }
  }

  private func startTimer() throws(SegueError) {
    let timer = try LoopTimer()
    try timer.start(on: loop) { [unowned(unsafe) self] in
      // `end` closes the timer and all watches before this object goes.
      self.engine.tick(Clock.now)
      self.listenAgain()
      self.writeAgain()
      self.flush()
    }
    self.timer = timer
  }

  private func listen() throws(SegueError) {
    listening = try Watch(socket.fd, on: loop) { [unowned(unsafe) self] _, _ in self.accept() }
  }

  /// Its name in the folder still leads to it.
  var isNamed: Bool { socket.isNamed }

  /// The process has no app left that needs it.
  func close() {
    // What its own apps said last is still in the sockets: the words, and then the end.
    for _ in 0..<Self.lastReads { for number in Array(connections.keys) { receive(number) } }
    let isLast = engine.appCount == 0
    engine.stepDown()
    sayLastWords()
    end(removingFiles: isLast)
  }

  /// What apps are still to be told goes out, if they read.
  private func sayLastWords() {
    let deadline = Clock.uptime + Self.lastWordsTime
    while true {
      flushPeers()
      var waiting: [pollfd] = []
      for (number, connection) in connections {
        flush(number)
        guard engine.link(of: number)?.hasOutput ?? false else { continue }
        waiting.append(pollfd(fd: connection.fd, events: connection.isRefused ? 0 : Int16(POLLOUT), revents: 0))
      }
      let left = min(deadline, writesAt ?? deadline) - Clock.uptime
      guard !waiting.isEmpty, Clock.uptime < deadline else { return }
      poll(&waiting, nfds_t(waiting.count), Int32(clamping: max(0, left)))
      writeAgain()
      // Who is gone takes no more, and would be ready for ever.
      let gone = Int16(POLLERR) | Int16(POLLHUP)
      for one in waiting where one.revents & gone != 0 {
        for (number, connection) in connections where connection.fd == one.fd { close(number) }
      }
    }
  }

  /// A hub of a higher generation has taken over, and tidies up.
  func stepDown() {
    engine.stepDown()
    flush()
    end(removingFiles: false)
  }

  /// Sends what the engine has to say, as far as the sockets take it.
  func flush() {
    while true {
      flushPeers()
      // Those that stay are told of what has gone with those that close.
      let closing = engine.takePeersToClose()
      guard !closing.isEmpty else { break }
      for number in closing { close(number) }
    }
    var deadline = engine.nextDeadline
    if let at = listensAt { deadline = min(deadline ?? at, at) }
    if let at = writesAt { deadline = min(deadline ?? at, at) }
    timer?.set(deadline)
  }

  private func flushPeers() {
    while true {
      if let crossing = engine.takeCrossing() {
        if let ferry = ferries.first(where: { $0.crossing === crossing }) { carry(ferry) }
      } else if !engine.flushNext({ write($0, $1) }) {
        return
      }
    }
  }

  /// Each piece goes out before the next is read.
  private func carry(_ ferry: Ferry) {
    while ferry.carry(engine) { while engine.flushNext({ write($0, $1) }) {} }
    ferry.watchSocket()
    if ferry.isClosed { ferries.removeAll { $0.isClosed } }
  }

  private func end(removingFiles: Bool) {
    listening?.close()
    timer?.close()
    for (_, connection) in connections { connection.close() }
    connections = [:]
    for ferry in ferries { ferry.close() }
    ferries = []
    socket.close(removingFiles: removingFiles)
  }

  private func accept() {
    // Others have their turn, too: what still waits is told again.
    for _ in 0..<Self.acceptsAtOnce {
      let fd: Int32
      switch socket.accept() {
      case .connection(let connection): fd = connection
      case .nobody: return
      case .exhausted:
        listening?.close()
        listening = nil
        listensAt = Clock.uptime + Self.pause
        return flush()
      }
      // Its number is the lowest that was free: those above are for the host, and for what apps send.
      let (limit, process) = (Descriptors.limit, Socket.peerProcess(fd))
      guard Int(fd) < limit - limit / Self.ownShare || process == getpid() else {
        Descriptors.close(fd)
        continue
      }
      do throws(SegueError) {
        let number = try watch(fd, of: process)
        guard processes[process, default: 0] <= limit / Self.processShare else {
          engine.turnAway(number, Clock.now)
          flush()
          continue
        }
        engine.connected(number, Clock.now)
        // Most say hello at once; that one has is not to be mistaken for silence if many others follow.
        receive(number)
        flush()
      } catch {
        Log.write(.error, "\(error.message)")
        Descriptors.close(fd)
      }
    }
  }

  private func watch(_ fd: Int32, of process: Int32? = nil) throws(SegueError) -> HubEngine.PeerNumber {
    let number = nextNumber
    nextNumber += 1
    let connection = Connection(fd: fd, process: process)
    connection.watch = try Watch(fd, on: loop) { [unowned(unsafe) self] isReadable, _ in
      guard isReadable else {
        self.drain(number)
        return self.flush()
      }
      // What comes much is likely to be there before one could wait for it.
      for _ in 0..<Self.readsInTurn {
        let isMoreLikely = self.receive(number)
        self.flush()
        guard isMoreLikely else { break }
      }
    }
    connections[number] = connection
    if let process { processes[process, default: 0] += 1 }
    return number
  }

  /// Descriptors have come from apps of this device, or are to go to them.
  private func transferDescriptors() {
    for transfer in engine.takeTransfers() {
      switch transfer {
      case .link(let request, let descriptor): attach(request, descriptor.owned.take())
      case .outgoing(let crossing, let descriptor): depart(crossing, descriptor.owned.take())
      case .incoming(let crossing): arrive(crossing)
      }
    }
  }

  /// An app has asked for a stream of another device.
  private func depart(_ crossing: Crossing, _ fd: Int32) {
    guard let socket = StreamSocket(fd) else {
      Descriptors.closeUntrusted(fd)
      return engine.lose(crossing, SegueError(.malformed, "the descriptor that came with the stream is none"))
    }
    ferry(crossing, socket)
  }

  /// An app of another device asks one of this for a stream.
  private func arrive(_ crossing: Crossing) {
    do throws(SegueError) {
      let (near, far) = try StreamSocket.pair()
      engine.connect(crossing, OwnedDescriptor(far))
      ferry(crossing, near)
    } catch {
      engine.lose(crossing, error)
    }
  }

  private func ferry(_ crossing: Crossing, _ socket: StreamSocket) {
    do throws(SegueError) {
      let ferry = try Ferry(crossing, socket, on: loop) { [unowned(unsafe) self] ferry in
        // `end` closes it before this object goes.
        self.carry(ferry)
        self.flush()
      }
      ferries.append(ferry)
      carry(ferry)
    } catch {
      Descriptors.closeUntrusted(socket.fd)
      engine.lose(crossing, error)
    }
  }

  /// An app wants a link to another device.
  private func attach(_ attachment: LinkRequest, _ fd: Int32) {
    do throws(SegueError) {
      guard Socket.isStream(fd) else {
        throw SegueError(.malformed, "the descriptor that came with the link is no connected stream socket")
      }
      let secret = try Randomness.identifier()
      engine.connectedHub(try watch(fd), for: attachment, secret: secret, Clock.now)
    } catch {
      Descriptors.closeUntrusted(fd)
      engine.refuse(attachment, error)
    }
  }

  /// After a pause because the system had nothing left for a connection.
  private func listenAgain() {
    guard let at = listensAt, at <= Clock.uptime else { return }
    listensAt = nil
    do throws(SegueError) {
      try listen()
      accept()
    } catch {
      listensAt = Clock.uptime + Self.pause
    }
  }

  /// Reads once, and does what there is to do then.
  /// - Returns: whether there may be more to read.
  @discardableResult private func receive(_ number: HubEngine.PeerNumber) -> Bool {
    guard let connection = connections[number], let link = engine.link(of: number) else { return false }
    let now = Clock.now
    let result = Socket.read(connection.fd, atMost: link.readSize) { bytes, came in
      engine.receive(bytes, with: came.takeDescriptor(), from: number, now)
    }
    transferDescriptors()
    socket.beat(now.uptime)
    if result == .closed { close(number) }
    return result == .full
  }

  private func drain(_ number: HubEngine.PeerNumber) {
    flush(number)
    engine.drained(number, Clock.now)
  }

  @inline(never)
  private func flush(_ number: HubEngine.PeerNumber) {
    guard let link = engine.link(of: number) else { return }
    write(number, link)
    if !link.hasOutput { engine.drained(number, Clock.now) }
  }

  /// What a link has to say goes out, as far as its socket takes it.
  private func write(_ number: HubEngine.PeerNumber, _ link: Link) {
    guard let connection = connections[number], !connection.isRefused else { return }
    while link.takeOutput({ bytes in
      switch Socket.write(bytes, link.outgoingDescriptor, to: connection.fd) {
      case .bytes(let count): return count
      case .refused:
        connection.isRefused = true
        writesAt = Clock.uptime + Self.writePause
        return 0
      }
    }) {}
    connection.watch?.watch(writing: link.hasOutput && !connection.isRefused)
  }

  /// After a pause because the system had nothing left for what was to be sent.
  private func writeAgain() {
    guard let at = writesAt, at <= Clock.uptime else { return }
    writesAt = nil
    for (number, connection) in connections where connection.isRefused {
      connection.isRefused = false
      flush(number)
    }
  }

  private func close(_ number: HubEngine.PeerNumber) {
    guard let connection = connections.removeValue(forKey: number) else { return }
    connection.close()
    if let process = connection.process {
      let others = processes[process, default: 1] - 1
      processes[process] = others == 0 ? nil : others
    }
    engine.disconnected(number, Clock.now)
  }
}
