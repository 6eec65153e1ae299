// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// Streams that cross links: what one side writes the other reads, whatever happens to the links (R7.2-R7.4).
@Suite struct LinkedStreamTests {
  /// One end of a stream, which a test reads and writes in place of its app.
  private final class StreamEnd {
    let socket: FleetSocket
    /// The bytes that it writes, and the number of them that the socket has taken.
    var bytes: [UInt8] = []
    private(set) var written = 0
    private(set) var arrived: [UInt8] = []
    /// The most bytes that it reads; nil if it reads no more.
    var room: Int? = .max
    /// The action that follows once it has written everything.
    var ending: Ending?

    enum Ending { case shutDown, close }

    init(_ socket: FleetSocket) { self.socket = socket }

    func move() {
      if let room {
        while arrived.count < room, let count = socket.read(atMost: room - arrived.count, { arrived += $0 }), count > 0
        {}
      } else {
        socket.shutDown(reading: true, writing: false)
      }
      while written < bytes.count, let count = bytes[written...].withUnsafeBytes({ socket.write($0) }), count > 0 {
        written += count
      }
      guard written == bytes.count, let ending else { return }
      switch ending {
      case .shutDown: socket.shutDown(reading: false, writing: true)
      case .close: socket.close()
      }
      self.ending = nil
    }
  }

  /// An editor on the first device, a viewer on the last, links from each to the next, and a stream that the viewer has
  /// requested.
  private final class Fixture {
    let devices: LinkedDevices
    let editor: ObservedApp
    let viewer: ObservedApp
    let from: ContinuedFrom
    private(set) var id = Identifier(high: 0, low: 0)
    private(set) var nearEnds: [StreamEnd] = []
    private(set) var farEnds: [StreamEnd] = []

    init(devices count: Int = 2) throws {
      devices = try LinkedDevices(count)
      try devices.linkRow()
      (editor, viewer) = try devices.openEditorAndViewer()
      _ = try devices.continue(in: viewer)
      // Until the apps have done what they do by themselves.
      devices.wait(5_000)
      try #require(viewer.streams.isEmpty && editor.streams.isEmpty)
      from = try #require(viewer.lastContinued)
      editor.answers.movesStreams = false
      id = try openStream()
      run(500)
    }

    var near: StreamEnd { nearEnds[0] }
    var far: StreamEnd { farEnds[0] }

    /// The viewer asks for a stream, which the editor has when this returns.
    @discardableResult func openStream() throws -> Identifier {
      let id = devices.fleet.drawIdentifier()
      nearEnds.append(StreamEnd(viewer.askRawStream(id, from)))
      for _ in 0..<10_000 where editor.streams.isEmpty { devices.fleet.step() }
      farEnds.append(StreamEnd(try #require(editor.streams.last).socket))
      editor.streams.removeLast()
      return id
    }

    /// Lets time pass, and bytes move.
    func run(_ milliseconds: Int64) {
      for _ in 0..<milliseconds / 10 {
        for end in nearEnds { end.move() }
        for end in farEnds { end.move() }
        devices.wait(10)
      }
    }

    func hub(_ device: Int) throws -> HubEngine {
      try #require(devices.hub(device))
    }
    var viewerHub: HubEngine { get throws { try hub(devices.carriers.count - 1) } }
    /// Whether the hubs of neither app know of a stream.
    var isOver: Bool {
      get throws { try hub(0).parts.transfers.linkedStreams.isEmpty && viewerHub.parts.transfers.linkedStreams.isEmpty }
    }

    /// Asks how the stream has ended, at each app that is left.
    func askHowEnded() {
      for app in [viewer, editor] where app.isAlive { app.askHowEnded(id) }
      run(1_000)
    }
  }

  private func bytes(_ count: Int, _ seed: Int = 0) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761 &+ seed) >> 8) }
  }

  @Test(arguments: [2, 3, 4])
  func `what one side writes the other reads, both ways, over any number of links (R7.2)`(devices: Int) throws {
    let scene = try Fixture(devices: devices)
    (scene.near.bytes, scene.far.bytes) = (bytes(400_000, 1), bytes(300_000, 2))
    scene.run(20_000)
    #expect(scene.far.arrived == scene.near.bytes && scene.near.arrived == scene.far.bytes)
    #expect(try !scene.isOver)
    (scene.near.ending, scene.far.ending) = (.shutDown, .shutDown)
    scene.run(1_000)
    #expect(try scene.isOver)
    #expect(scene.devices.fleet.violation == nil)
  }

  @Test func `a slow reader stops the writer: no more than the windows is under way (R7.2)`() throws {
    let scene = try Fixture(devices: 3)
    let socketSize = scene.far.socket.room ?? 0
    scene.near.bytes = bytes(600_000)
    scene.far.ending = .shutDown
    scene.far.room = 1_000
    scene.run(5_000)
    #expect(scene.far.arrived.count == 1_000)
    #expect(scene.near.written <= 1_000 + FramedConnection.window + 2 * socketSize)
    let credit = try scene.viewerHub.parts.transfers.linkedStreams[scene.id]?.availableCredit
    #expect(credit == 0, "credit for less than a frame is not used: frames do not become small")
    scene.far.room = .max
    // No other message passes meanwhile that could carry the credit.
    scene.run(3_000)
    #expect(scene.far.arrived == scene.near.bytes)
  }

  @Test(arguments: [2, 3])
  func `when the last of it has been read no hub keeps anything of it (R7.2)`(devices: Int) throws {
    let scene = try Fixture(devices: devices)
    for end in [scene.near, scene.far] {
      end.bytes = bytes(100_000)
      end.ending = .shutDown
      // All of it comes to the hub, and the end behind it, before the app reads.
      end.room = 1_000
    }
    scene.run(2_000)
    #expect(try !scene.isOver)
    (scene.near.room, scene.far.room) = (.max, .max)
    scene.run(1_000)
    #expect(try scene.isOver)
    scene.devices.wait(90_000)
    for device in 0..<devices { #expect(try scene.hub(device).leak == nil) }
  }

  @Test func `a side that reads no more, and has written all, has no stream any more (R7.3)`() throws {
    let scene = try Fixture()
    scene.near.ending = .shutDown
    scene.near.room = nil
    scene.run(200)
    scene.far.bytes = bytes(900_000)
    scene.run(1_000)
    #expect(try scene.viewerHub.parts.transfers.linkedStreams.isEmpty)
    #expect(scene.far.socket.room == nil && scene.far.written < scene.far.bytes.count)
  }

  @Test func `the status of an end comes behind the bytes before it (R7.3)`() throws {
    let scene = try Fixture()
    scene.near.bytes = bytes(300_000)
    scene.near.ending = .close
    scene.far.room = 50_000
    scene.viewer.perform { engine, _ in engine.reportEnd(.aborted(7), of: scene.id) }
    scene.run(1_000)
    #expect(scene.editor.engine?.hasHeardEnd(of: scene.id) == false)
    scene.far.room = .max
    scene.run(1_000)
    #expect(scene.far.arrived == scene.near.bytes)
    scene.editor.askHowEnded(scene.id)
    scene.run(500)
    #expect(scene.editor.streamEnds == [.aborted(7)])
  }

  /// - Parameter device: the hub at which a foreign byte gets in: the reader's, or one on the way.
  @Test(arguments: [0, 1])
  func `a reader of another number of bytes than were written does not hear of a clean end (R7.3)`(device: Int) throws {
    let scene = try Fixture(devices: 3)
    scene.near.bytes = bytes(1_000)
    scene.run(500)
    if device == 0 {
      let stream = try #require(scene.hub(0).parts.transfers.linkedStreams[scene.id])
      stream.append([7])
    } else {
      let relays = try scene.hub(1).parts.peers.hubs.flatMap { $0.channels.relays }
      let origin = try scene.hub(0).parts.connections.identity.id
      let relay = try #require(relays.first { $0.to.hub?.identity.id == origin })
      relay.to.link.write([7], to: relay.outChannel)
    }
    scene.near.ending = .shutDown
    scene.viewer.perform { engine, _ in engine.reportEnd(.ended, of: scene.id) }
    scene.run(500)
    scene.editor.askHowEnded(scene.id)
    scene.run(500)
    #expect(scene.editor.streamEnds == [.broken])
  }

  @Test func `a side that closes stops the other's writing, and unsaid it is an abort (R7.3)`() throws {
    let scene = try Fixture()
    scene.near.ending = .close
    scene.far.bytes = bytes(900_000)
    scene.viewer.lose(scene.id)
    scene.run(1_000)
    #expect(scene.far.socket.room == nil && scene.far.written < scene.far.bytes.count)
    scene.editor.askHowEnded(scene.id)
    scene.run(500)
    #expect(scene.editor.streamEnds == [.aborted(0)])
  }

  @Test(arguments: [2, 3])
  func `that a hub shuts a socket down is no clean end: the other app is asked (R7.3)`(devices: Int) throws {
    for (isGone, end) in [(true, StreamStatus.broken), (false, .aborted(0))] {
      let scene = try Fixture(devices: devices)
      scene.near.bytes = bytes(5_000)
      scene.near.ending = .close
      scene.near.move()
      if isGone { scene.viewer.process.kill() } else { scene.viewer.lose(scene.id) }
      // Between the end of the bytes and the status, the socket looks like this.
      scene.editor.perform { engine, _ in engine.sawEnd(of: scene.id) }
      scene.editor.askHowEnded(scene.id)
      scene.run(500)
      #expect(scene.editor.streamEnds == [end])
    }
  }

  @Test(arguments: [2, 3])
  func `if the other process is gone it is broken, at once, over links too (R7.3)`(devices: Int) throws {
    for isOrigin in [true, false] {
      let scene = try Fixture(devices: devices)
      let (gone, left) = isOrigin ? (scene.editor, scene.viewer) : (scene.viewer, scene.editor)
      scene.run(2_000)
      gone.process.kill()
      scene.run(200)
      left.askHowEnded(scene.id)
      scene.run(200)
      #expect(left.streamEnds == [.broken])
    }
  }

  @Test(arguments: 0..<12)
  func `a link that is cut again and again loses nothing and repeats nothing (R7.4)`(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let scene = try Fixture(devices: 2 + seed % 2)
    (scene.near.bytes, scene.far.bytes) = (bytes(600_000, seed), bytes(500_000, seed + 1))
    for _ in 0..<12 {
      scene.run(random.within(1, 200))
      scene.devices.cut(0, 1)
      scene.run(random.within(0, 2_000))
    }
    scene.run(20_000)
    #expect(scene.far.arrived == scene.near.bytes && scene.near.arrived == scene.far.bytes)
    #expect(scene.devices.fleet.violation == nil)
  }

  @Test(arguments: 0..<5)
  func `no message comes between what was cut and its rest (R7.4)`(step: Int64) throws {
    let scene = try Fixture()
    scene.far.bytes = bytes(600_000)
    scene.run(50)
    scene.devices.cut(0, 1)
    let link = try #require(scene.editor.process.device.link(to: scene.viewer.process.device))
    scene.run(100)
    for _ in 0..<100 where !link.isJoined { scene.run(10) }
    // Between the first message over the new connection and the last, the hub says goodbye.
    scene.devices.wait(step * 10)
    scene.devices.carriers[0].close()
    scene.run(200)
    let arrived = scene.near.arrived
    #expect(!arrived.isEmpty && arrived == Array(scene.far.bytes.prefix(arrived.count)))
  }

  @Test func `a link that stays cut for 60 s breaks the stream, whatever was said of its end (R7.4)`() throws {
    let scene = try Fixture()
    scene.near.bytes = bytes(500_000)
    scene.near.ending = .shutDown
    scene.far.room = 100_000
    scene.viewer.perform { engine, _ in engine.reportEnd(.ended, of: scene.id) }
    scene.run(500)
    try scene.devices.unlink(0, 1)
    scene.run(59_000)
    #expect(
      try !scene.hub(0).parts.transfers.linkedStreams.isEmpty && !scene.viewerHub.parts.transfers.linkedStreams.isEmpty)
    scene.run(1_500)
    #expect(try scene.isOver)
    try scene.devices.link(0, 1)
    scene.run(1_000)
    scene.askHowEnded()
    #expect(scene.viewer.streamEnds == [.broken] && scene.editor.streamEnds == [.broken])
  }

  @Test(arguments: 0..<3)
  func `the death of any hub on the way breaks it for both (R7.4)`(device: Int) throws {
    let scene = try Fixture(devices: 3)
    _ = try scene.devices.open("spare", on: 1)
    scene.near.bytes = bytes(500_000)
    scene.near.ending = .shutDown
    scene.far.room = 100_000
    scene.viewer.perform { engine, _ in engine.reportEnd(.ended, of: scene.id) }
    scene.run(500)
    scene.devices.carriers[device].process.kill()
    scene.run(61_000)
    scene.askHowEnded()
    #expect(scene.viewer.streamEnds == [.broken] && scene.editor.streamEnds == [.broken])
  }

  @Test func `one process has as many as its share of a link's channels, and the next is refused (R7.1)`() throws {
    let scene = try Fixture()
    let before = scene.viewer.streamAnswers.count
    for _ in 1..<HubTransfers.channelLimit { try scene.openStream() }
    _ = scene.viewer.askRawStream(scene.devices.fleet.drawIdentifier(), scene.from)
    scene.run(1_000)
    let answers = scene.viewer.streamAnswers[before...]
    #expect(answers.count { $0 == nil } == HubTransfers.channelLimit - 1)
    #expect(answers.compactMap { $0?.status } == [.limitExceeded])
  }

  @Test func `a hundred streams share a link evenly (R7.2)`() throws {
    let scene = try Fixture()
    for _ in 0..<99 { try scene.openStream() }
    scene.run(1_000)
    for end in scene.nearEnds { end.bytes = [UInt8](repeating: 1, count: 400_000) }
    scene.run(300)
    let counts = scene.farEnds.map { $0.arrived.count }
    let (least, most) = (counts.min() ?? 0, counts.max() ?? 0)
    #expect(most > 0 && most - least <= FramedConnection.window, "\(least) to \(most)")
    scene.run(30_000)
    #expect(scene.farEnds.allSatisfy { $0.arrived.count == 400_000 })
  }
}
