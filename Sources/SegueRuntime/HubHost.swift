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

  private final class Connection {
    let fd: Int32
    var watch: Watch?
    init(fd: Int32) { self.fd = fd }
  }

  /// Nil: another process runs the generation.
  init?(
    _ generation: UInt64, in folder: RuntimeFolder, on loop: Loop, offersFrontmostOnly: Bool
  ) throws(SegueError) {
    guard let socket = try HubSocket(generation, in: folder) else { return nil }
    self.generation = generation
    self.socket = socket
    self.loop = loop
    engine = HubEngine(
      HubIdentity(id: Randomness.identifier(), deviceName: DeviceName.current), generation: generation,
      offersFrontmostOnly: offersFrontmostOnly, Clock.now)
    timer = LoopTimer(on: loop) { [unowned(unsafe) self] in
      // `end` closes the timer and all watches before this object goes.
      self.engine.tick(Clock.now)
      self.flush()
    }
    listening = try Watch(socket.fd, on: loop) { [unowned(unsafe) self] _, _ in self.accept() }
  }

  /// The process has no app left that needs it.
  func close() {
    // What its own apps said last is still in the sockets: the words, and then the end.
    for _ in 0..<2 { for number in Array(connections.keys) { receive(number) } }
    flush()
    engine.stepDown()
    flush()
    end(removingFiles: engine.appCount == 0)
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
      let peers = engine.takePeersToFlush()
      guard !peers.isEmpty else { break }
      for number in peers { flush(number) }
    }
    for number in engine.takePeersToClose() { close(number) }
    timer?.set(engine.nextDeadline)
  }

  private func end(removingFiles: Bool) {
    listening?.close()
    timer?.close()
    for (_, connection) in connections {
      connection.watch?.close()
      Descriptors.close(connection.fd)
    }
    connections = [:]
    socket.close(removingFiles: removingFiles)
  }

  private func accept() {
    while let fd = socket.accept() {
      let number = nextNumber
      nextNumber += 1
      engine.connected(number, Clock.now)
      let connection = Connection(fd: fd)
      do throws(SegueError) {
        connection.watch = try Watch(fd, on: loop) { [unowned(unsafe) self] isReadable, _ in
          if isReadable { self.receive(number) } else { self.drain(number) }
          self.flush()
        }
        connections[number] = connection
        // Most say hello at once; that one has is not to be mistaken for silence if many others follow.
        receive(number)
        flush()
      } catch {
        Log.write(.error, error.message)
        engine.disconnected(number, Clock.now)
        Descriptors.close(fd)
      }
    }
  }

  private func receive(_ number: HubEngine.PeerNumber) {
    guard let connection = connections[number] else { return }
    let result = Socket.read(connection.fd) { bytes in engine.receive(bytes, from: number, Clock.now) }
    if case .closed = result { close(number) }
  }

  private func drain(_ number: HubEngine.PeerNumber) {
    flush(number)
    engine.drained(number, Clock.now)
  }

  private func flush(_ number: HubEngine.PeerNumber) {
    guard let connection = connections[number], let link = engine.link(of: number) else { return }
    while link.takeOutput({ Socket.write($0, to: connection.fd) }) {}
    connection.watch?.watch(writing: link.hasOutput)
    if !link.hasOutput { engine.drained(number, Clock.now) }
  }

  private func close(_ number: HubEngine.PeerNumber) {
    guard let connection = connections.removeValue(forKey: number) else { return }
    connection.watch?.close()
    Descriptors.close(connection.fd)
    engine.disconnected(number, Clock.now)
  }
}
