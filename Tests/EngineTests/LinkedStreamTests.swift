import SegueDriver
import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// Streams that cross links: what one side writes the other reads, whatever happens to the links (R7.2-R7.4).
@Suite struct LinkedStreamTests {
  /// The socket of one stream's app, as two lists of bytes.
  private final class Socket: StreamEndpoint {
    let stream: LinkedStream
    /// What the app has written, and what it may read.
    var written: [UInt8] = []
    var arrived: [UInt8] = []
    /// What the app does behind what it has written.
    var end: End?
    /// Bytes that the app leaves unread at most; nil: it reads no more.
    var room: Int? = .max
    private var forwarder: StreamForwarder?
    init(_ stream: LinkedStream) { self.stream = stream }

    enum End {
      /// It shuts down for writing.
      case finished
      case closed
    }

    func carry(_ hub: HubEngine) {
      let forwarder = forwarder ?? StreamForwarder(stream, self)
      self.forwarder = forwarder
      repeat { forwarder.becameReadable() } while forwarder.forward(by: hub) || hasMore && stream.mayRead
    }

    private var hasMore: Bool { !written.isEmpty || end != nil }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
      guard !written.isEmpty else { return end == nil ? 0 : nil }
      let count = min(buffer.count, written.count, 10_000)
      buffer.copyBytes(from: written[..<count])
      written.removeFirst(count)
      return count
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
      guard let room else { return nil }
      let count = min(bytes.count, room - arrived.count)
      arrived += bytes.prefix(count)
      return count
    }

    func shutDown(reading: Bool, writing: Bool) {}
    func watch(reading: Bool, writing: Bool) {}
    func close() { forwarder = nil }
    var isOtherEndClosed: Bool { end == .closed }
  }

  /// An editor on the first device, a viewer on the last, links from each to the next, and a stream that the viewer has
  /// requested.
  private final class Scene {
    let worlds: LinkedWorlds
    let editor: TestApp
    let viewer: TestApp
    let id: Identifier
    private var sockets: [(world: World, socket: Socket)] = []

    init(devices: Int = 2) throws {
      worlds = LinkedWorlds(devices)
      for device in 1..<devices { worlds.link(device - 1, device) }
      let (first, last) = (worlds.worlds[0], worlds.worlds[devices - 1])
      editor = first.open("editor")
      viewer = last.open("viewer")
      let activity = try first.offer("Draft", by: editor)
      first.tell(editor) { [editor] _, now in
        editor.change(activity, at: now) { $0.setSupportsContinuationStreams(true) }
      }
      worlds.wait(500)
      try #require(!viewer.engine.offers.all.isEmpty)
      _ = try last.continue(in: viewer)
      worlds.wait(1_000)
      let from = try #require(viewer.continued.first?.from)
      id = last.identifier()
      last.tell(viewer) { [id] in $0.askStream(id, from, otherEnd: PassedDescriptor(), timeout: nil, $1) }
      run(1_000)
      try #require(viewer.streamAnswers.map { $0.error } == [nil])
      try #require(editor.streamsThatCame == [id])
      try #require(sockets.count == 2)
    }

    private func socket(_ world: World) -> Socket { sockets.first { $0.world === world }!.socket }
    var near: Socket { socket(worlds.worlds.last!) }
    var far: Socket { socket(worlds.worlds[0]) }
    var last: World { worlds.worlds.last! }
    var first: World { worlds.worlds[0] }

    /// Lets time pass, and bytes move.
    func run(_ milliseconds: Int64) {
      let end = worlds.now + milliseconds
      while worlds.now < end {
        for world in worlds.worlds {
          for transfer in world.hub?.takeTransfers() ?? [] {
            switch transfer {
            case .outgoing(let stream, _): sockets.append((world, Socket(stream)))
            case .incoming(let stream):
              sockets.append((world, Socket(stream)))
              world.hub?.connect(stream, PassedDescriptor())
            case .link: break
            }
          }
          world.settle()
        }
        for (world, socket) in sockets {
          guard let hub = world.hub, !socket.stream.isOver else { continue }
          socket.carry(hub)
          while hub.takeChangedStream() != nil {}
          world.settle()
        }
        worlds.wait(10)
      }
    }

    /// The hub of a device dies, and its sockets with it; the next is linked again.
    func killHub(_ device: Int) {
      let neighbours = [device - 1, device + 1].filter(worlds.worlds.indices.contains)
      for other in neighbours { worlds.cut(other, device) }
      sockets.removeAll { $0.world === worlds.worlds[device] }
      worlds.worlds[device].killHub()
      worlds.worlds[device].startHub()
      for other in neighbours { worlds.link(other, device) }
    }

    /// The viewer writes as much to each stream.
    func share(_ count: Int) {
      for (world, socket) in sockets where world === last { socket.written = [UInt8](repeating: 1, count: count) }
    }

    var arrivedAtOrigin: [Int] { sockets.filter { $0.world === first }.map { $0.socket.arrived.count } }

    func askHowEnded() {
      last.tell(viewer) { [id] in $0.askHowEnded(id, $1) }
      first.tell(editor) { [id] in $0.askHowEnded(id, $1) }
    }
  }

  private func bytes(_ count: Int, _ seed: Int = 0) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761 &+ seed) >> 8) }
  }

  @Test(arguments: [2, 3, 4])
  func `what one side writes the other reads, both ways, over any number of links (R7.2)`(devices: Int) throws {
    let scene = try Scene(devices: devices)
    let (there, back) = (bytes(400_000, 1), bytes(300_000, 2))
    scene.near.written = there
    scene.far.written = back
    scene.run(20_000)
    #expect(scene.far.arrived == there && scene.near.arrived == back)
    scene.near.end = .finished
    scene.far.end = .finished
    scene.run(1_000)
    #expect(scene.near.stream.isOver && scene.far.stream.isOver)
  }

  @Test func `a slow reader stops the writer: no more than the windows is under way (R7.2)`() throws {
    let scene = try Scene(devices: 3)
    let there = bytes(600_000)
    scene.near.written = there
    scene.far.end = .finished
    scene.far.room = 1_000
    scene.run(5_000)
    #expect(scene.far.arrived.count == 1_000)
    #expect(there.count - scene.near.written.count <= 1_000 + Link.window)
    #expect(
      scene.near.stream.availableCredit == 0, "credit for less than a frame is not used: frames do not become small")
    scene.far.room = .max
    // Nothing else is said meanwhile with which the credit could go.
    scene.run(3_000)
    #expect(scene.far.arrived == there)
  }

  @Test(arguments: [2, 3])
  func `when the last of it has been read no hub keeps anything of it (R7.2)`(devices: Int) throws {
    let scene = try Scene(devices: devices)
    for socket in [scene.near, scene.far] {
      socket.written = bytes(100_000)
      socket.end = .finished
      // All has come to the hub, and the end behind it, before the app reads.
      socket.room = 1_000
    }
    scene.run(2_000)
    #expect(!scene.near.stream.isOver && !scene.far.stream.isOver)
    scene.near.room = .max
    scene.far.room = .max
    scene.run(1_000)
    #expect(scene.near.stream.isOver && scene.far.stream.isOver)
    scene.worlds.wait(90_000)
    for world in scene.worlds.worlds { #expect(world.hub?.leftover == nil) }
  }

  @Test func `who reads no more, and has written all, has no stream any more (R7.3)`() throws {
    let scene = try Scene()
    scene.near.end = .finished
    scene.near.room = nil
    scene.run(200)
    scene.far.written = bytes(900_000)
    scene.run(1_000)
    #expect(scene.near.stream.isOver && scene.last.hub?.linkedStreams.isEmpty ?? false)
    #expect(scene.far.stream.isUnread && !scene.far.written.isEmpty)
  }

  @Test func `a word of the end comes behind the bytes before it (R7.3)`() throws {
    let scene = try Scene()
    let there = bytes(200_000)
    scene.near.written = there
    scene.near.end = .closed
    scene.far.room = 50_000
    scene.last.tell(scene.viewer) { [id = scene.id] engine, _ in engine.reportEnd(.aborted(7), of: id) }
    scene.run(1_000)
    #expect(!scene.far.stream.isWritten && !scene.editor.engine.hasHeardEnd(of: scene.id))
    scene.far.room = .max
    scene.run(1_000)
    #expect(scene.far.arrived == there && scene.far.stream.isOver)
    scene.first.tell(scene.editor) { [id = scene.id] in $0.askHowEnded(id, $1) }
    #expect(scene.editor.streamEnds == [.aborted(7)])
  }

  /// - Parameter device: where a byte gets in that nobody wrote: at a hub on the way, or at the reader's.
  @Test(arguments: [0, 1])
  func `who gets another number of bytes than were written does not hear of a clean end (R7.3)`(device: Int) throws {
    let scene = try Scene(devices: 3)
    scene.near.written = bytes(1_000)
    scene.run(500)
    if device == 0 {
      scene.far.stream.append([7])
    } else {
      let relays = scene.worlds.worlds[1].hub?.peers.hubs.flatMap { $0.channels.relays } ?? []
      let relay = try #require(relays.first { $0.to.hub?.identity.id == scene.first.hub?.identity.id })
      relay.to.link.write([7], to: relay.outChannel)
    }
    scene.near.end = .finished
    scene.last.tell(scene.viewer) { [id = scene.id] engine, _ in engine.reportEnd(.ended, of: id) }
    scene.run(500)
    scene.first.tell(scene.editor) { [id = scene.id] in $0.askHowEnded(id, $1) }
    scene.run(500)
    #expect(scene.editor.streamEnds == [.broken])
  }

  @Test func `who closes stops the other's writing, and unsaid it is an abort (R7.3)`() throws {
    let scene = try Scene()
    scene.near.end = .closed
    scene.far.written = bytes(900_000)
    scene.run(1_000)
    #expect(scene.far.stream.isUnread && scene.far.stream.isOver && !scene.far.written.isEmpty)
    scene.viewer.end = .aborted(0)
    scene.first.tell(scene.editor) { [id = scene.id] in $0.askHowEnded(id, $1) }
    scene.run(500)
    #expect(scene.editor.streamEnds == [.aborted(0)])
  }

  @Test(arguments: [2, 3])
  func `that a hub shuts a socket down is no clean end: the other app is asked (R7.3)`(devices: Int) throws {
    for (isGone, end) in [(true, StreamStatus.broken), (false, .aborted(0))] {
      let scene = try Scene(devices: devices)
      scene.near.written = bytes(5_000)
      scene.near.end = .closed
      if isGone { scene.last.kill(scene.viewer) } else { scene.viewer.end = .aborted(0) }
      // As it looks between the end of the bytes and the word that nobody reads.
      scene.first.tell(scene.editor) { [id = scene.id] engine, now in
        engine.sawEnd(of: id)
        engine.askHowEnded(id, now)
      }
      scene.run(500)
      #expect(scene.editor.streamEnds == [end])
    }
  }

  @Test(arguments: [2, 3])
  func `if the other process is gone it is broken, at once, over links too (R7.3)`(devices: Int) throws {
    for isOrigin in [true, false] {
      let scene = try Scene(devices: devices)
      scene.run(2_000)
      let (gone, socket) = isOrigin ? (scene.editor, scene.far) : (scene.viewer, scene.near)
      (isOrigin ? scene.first : scene.last).kill(gone)
      socket.end = .closed
      scene.run(200)
      let left = isOrigin ? scene.viewer : scene.editor
      (isOrigin ? scene.last : scene.first).tell(left) { [id = scene.id] in $0.askHowEnded(id, $1) }
      scene.run(200)
      #expect(left.streamEnds == [.broken])
    }
  }

  @Test(arguments: 0..<12)
  func `a link that is cut again and again loses nothing and repeats nothing (R7.4)`(seed: Int) throws {
    var random = Seeded(state: UInt64(seed))
    let scene = try Scene(devices: 2 + seed % 2)
    let (there, back) = (bytes(600_000, seed), bytes(500_000, seed + 1))
    scene.near.written = there
    scene.far.written = back
    for _ in 0..<12 {
      scene.run(Int64.random(in: 1...200, using: &random))
      scene.worlds.cut(0, 1, after: Int.random(in: 0...100_000, using: &random))
      scene.run(Int64.random(in: 0...2_000, using: &random))
      scene.worlds.link(0, 1)
    }
    scene.run(20_000)
    #expect(scene.far.arrived == there && scene.near.arrived == back)
  }

  @Test(arguments: 0..<5)
  func `nothing that does not count comes between what was cut and its rest (R7.4)`(step: Int64) throws {
    let scene = try Scene()
    let there = bytes(50_000)
    scene.far.written = there
    scene.run(10)
    scene.worlds.cut(0, 1, after: 20_000)
    scene.run(100)
    scene.worlds.link(0, 1)
    // Somewhere between the first word on the new connection and the last.
    scene.run(step * 10)
    scene.first.hub?.stepDown()
    scene.first.settle()
    scene.run(200)
    #expect(!scene.near.arrived.isEmpty && scene.near.arrived == Array(there.prefix(scene.near.arrived.count)))
  }

  @Test func `a link that stays cut for 60 s breaks the stream, whatever was said of its end (R7.4)`() throws {
    let scene = try Scene()
    scene.near.written = bytes(500_000)
    scene.near.end = .finished
    scene.far.room = 100_000
    scene.last.tell(scene.viewer) { [id = scene.id] engine, _ in engine.reportEnd(.ended, of: id) }
    scene.run(500)
    scene.worlds.cut(0, 1)
    scene.run(59_000)
    #expect(!scene.near.stream.isOver && !scene.far.stream.isOver)
    scene.run(1_500)
    #expect(scene.near.stream.isOver && scene.far.stream.isOver)
    scene.worlds.link(0, 1)
    scene.run(1_000)
    scene.askHowEnded()
    #expect(scene.viewer.streamEnds == [.broken] && scene.editor.streamEnds == [.broken])
  }

  @Test(arguments: 0..<3)
  func `the death of any hub on the way breaks it for both (R7.4)`(device: Int) throws {
    let scene = try Scene(devices: 3)
    scene.near.written = bytes(500_000)
    scene.near.end = .finished
    scene.far.room = 100_000
    scene.last.tell(scene.viewer) { [id = scene.id] engine, _ in engine.reportEnd(.ended, of: id) }
    scene.run(500)
    scene.killHub(device)
    scene.run(61_000)
    scene.askHowEnded()
    scene.run(1_000)
    #expect(scene.viewer.streamEnds == [.broken] && scene.editor.streamEnds == [.broken])
  }

  @Test func `there are as many as a link has channels, and the next is refused (R7.1)`() throws {
    let scene = try Scene()
    let from = try #require(scene.viewer.continued.first?.from)
    for _ in 0..<Link.channelLimit {
      scene.last.tell(scene.viewer) {
        $0.askStream(scene.last.identifier(), from, otherEnd: PassedDescriptor(), timeout: nil, $1)
      }
    }
    scene.run(1_000)
    #expect(scene.viewer.streamAnswers.filter { $0.error == nil }.count == Link.channelLimit)
    #expect(scene.viewer.streamAnswers.compactMap { $0.error?.status } == [.limitExceeded])
  }

  @Test func `a hundred streams share a link evenly (R7.2)`() throws {
    let scene = try Scene()
    let from = try #require(scene.viewer.continued.first?.from)
    for _ in 0..<99 {
      scene.last.tell(scene.viewer) {
        $0.askStream(scene.last.identifier(), from, otherEnd: PassedDescriptor(), timeout: nil, $1)
      }
    }
    scene.run(1_000)
    scene.share(400_000)
    scene.run(300)
    let counts = scene.arrivedAtOrigin
    #expect(counts.count == 100)
    let (least, most) = (counts.min() ?? 0, counts.max() ?? 0)
    #expect(most > 0 && most - least <= Link.window, "\(least) to \(most)")
    scene.run(30_000)
    #expect(scene.arrivedAtOrigin.allSatisfy { $0 == 400_000 })
  }
}
