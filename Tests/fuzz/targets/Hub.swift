// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

@testable import SegueEngine

/// A hub whose apps and linked hubs send any input: nothing traps, its invariants hold, its output decodes, and what is
/// held for one that does not read is bounded.
func fuzzHub(_ bytes: UnsafeRawBufferPointer) {
  var input = Input(bytes)
  var story = FuzzScript(offersFrontmostOnly: input.bool())
  while !input.isEmpty { story.step(&input) }
  story.end()
}

private struct FuzzScript {
  let hub: HubEngine
  var now = Instant(uptime: 1_000_000, date: 1_700_000_000)
  var peers: [(number: HubEngine.PeerNumber, peer: Peer)] = []
  var nextNumber: HubEngine.PeerNumber = 1
  /// Streams that cross links; their sockets are made of input.
  var streams: [LinkedStream] = []

  init(offersFrontmostOnly: Bool) {
    let identity = HubIdentity(id: Identifier(high: 0, low: 15), deviceName: "here")
    hub = HubEngine(identity, generation: 1, offersFrontmostOnly: offersFrontmostOnly, now)
  }

  mutating func step(_ input: inout Input) {
    switch input.number(below: 16) {
    case 0: if let number = add() { hub.connected(number, now) }
    case 1: if let number = add() { hub.connectedHub(number, secret: secret(number), now) }
    case 2: if let number = add() { register(number, &input) }
    case 3: if let number = add() { link(number, &input) }
    case 4: disconnect(&input)
    case 5: wait(&input)
    case 6: read(&input)
    case 7: closeThoseToClose()
    case 8: attach(&input)
    case 9: if input.byte() == 255 { hub.stepDown() }
    case 10: carry(&input)
    default: receive(&input)
    }
    require(hub.brokenInvariant == nil, "\(hub.brokenInvariant ?? "")")
  }

  mutating func end() {
    for index in peers.indices { hear(index) }
    closeThoseToClose()
    for (number, _) in peers { hub.disconnected(number, now) }
    require(hub.brokenInvariant == nil, "\(hub.brokenInvariant ?? "")")
    require(hub.appCount == 0 && hub.parts.offers.directory.isEmpty, "something is left of those who went")
    require(!hub.parts.continuations.hasAttempts, "a continuation is left of those who went")
    now.uptime += 1_000_000
    hub.tick(now)
    require(
      hub.parts.continuations.heldCount == 0 && !hub.parts.offers.directory.hasTopics, "something is left for ever")
    require(
      hub.parts.transfers.linkedStreams.isEmpty && streams.allSatisfy { $0.isOver }, "a stream goes on without a link")
  }

  private mutating func add() -> HubEngine.PeerNumber? {
    guard peers.count < 8 else { return nil }
    defer { nextNumber += 1 }
    peers.append((nextNumber, Peer()))
    return nextNumber
  }

  private func register(_ number: HubEngine.PeerNumber, _ input: inout Input) {
    hub.connected(number, now)
    let identity = input.app(Identifier(high: 0, low: number % 16))
    tell(number, Peer.words(.hello(identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum)))
  }

  private func link(_ number: HubEngine.PeerNumber, _ input: inout Input) {
    hub.connectedHub(number, secret: secret(number), now)
    let identity = HubIdentity(id: Identifier(high: 0, low: number % 16), deviceName: "away")
    tell(number, Peer.words(.link(identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum)))
    let known = secret(HubEngine.PeerNumber(input.number(below: 16)))
    let session = Message.SharedSession(secret: known, isConnected: input.bool())
    tell(number, Peer.words(.resume(secret: secret(number), sessions: [session])))
    // It is not told what the hub decides, or decides itself.
    guard input.bool() || number % 16 < 15 else { return }
    let proceed = Message.proceed(session: input.bool() ? known : nil, received: UInt64(input.byte()))
    if input.bool() { tell(number, Peer.words(proceed)) }
  }

  private func secret(_ number: HubEngine.PeerNumber) -> Identifier { Identifier(high: 1, low: number) }

  /// Connects the streams and links that apps have asked for, or has them fail.
  private mutating func attach(_ input: inout Input) {
    for transfer in hub.takeTransfers() {
      switch transfer {
      case .outgoing(let stream, _), .incoming(let stream):
        streams.append(stream)
        if input.byte() == 255 { hub.failed(stream, SegueError(.system, "no socket")) }
        hub.connect(stream, PassedDescriptor())
      case .link(let request, _): attach(request, &input)
      }
    }
  }

  private mutating func attach(_ attachment: LinkRequest, _ input: inout Input) {
    if input.bool(), let number = add() {
      hub.connectedHub(number, for: attachment, secret: secret(number), now)
    } else {
      hub.refuse(attachment, SegueError(.limitExceeded, "no more"))
    }
  }

  /// Has the socket of a stream give bytes, take bytes, end or take no more.
  private mutating func carry(_ input: inout Input) {
    guard !streams.isEmpty else { return }
    let stream = streams[input.number(below: streams.count)]
    switch input.number(below: 4) {
    case 0:
      let (byte, size) = (input.byte(), Int(input.byte()) * 1_000)
      hub.read(stream) { room in
        require(
          room.count <= min(stream.availableCredit, FramedConnection.pieceSize), "more is read than there is room for")
        let bytes = [UInt8](repeating: byte, count: min(room.count, size))
        room.copyBytes(from: bytes)
        return bytes.count
      }
    case 1:
      let room = Int(input.byte()) * 1_000
      hub.write(stream) { min($0.count, room) }
    case 2: hub.ended(stream, isClosed: input.bool())
    default: hub.stopReading(stream)
    }
    while let changed = hub.takeChangedStream() {
      require(
        !changed.isOver || !hub.parts.transfers.linkedStreams.all.contains { $0 === changed },
        "a stream that is over is kept"
      )
    }
  }

  private func tell(_ number: HubEngine.PeerNumber, _ bytes: [UInt8]) {
    hub.receive(bytes, with: Peer.descriptor(of: bytes), from: number, now)
  }

  private mutating func disconnect(_ input: inout Input) {
    guard !peers.isEmpty else { return }
    hub.disconnected(peers.remove(at: input.number(below: peers.count)).number, now)
  }

  private mutating func wait(_ input: inout Input) {
    let milliseconds = Int64(input.byte()) * Int64(input.byte())
    now.uptime += milliseconds
    now.date += Double(milliseconds) / 1000
    hub.tick(now)
    let deadline = hub.nextDeadline
    require(deadline.map { $0 > now.uptime } ?? true, "a deadline stands still at \(deadline ?? 0)")
  }

  private mutating func receive(_ input: inout Input) {
    guard !peers.isEmpty else { return }
    let number = peers[input.number(below: peers.count)].number
    tell(number, Peer.words(&input))
    for (number, _) in peers {
      guard let link = hub.link(of: number) else { continue }
      require(link.heldBytes <= HubConnections.backlogLimit + 128 * 1024, "what waits for a peer has no bound")
    }
  }

  private mutating func read(_ input: inout Input) {
    guard !peers.isEmpty else { return }
    hear(input.number(below: peers.count))
  }

  private mutating func hear(_ index: Int) {
    guard let link = hub.link(of: peers[index].number) else { return }
    while hub.flushNext({ _, _ in }) {}
    _ = peers[index].peer.hear(link)
    hub.drained(peers[index].number, now)
  }

  private mutating func closeThoseToClose() {
    for number in hub.takePeersToClose() {
      hub.disconnected(number, now)
      peers.removeAll { $0.number == number }
    }
  }
}
