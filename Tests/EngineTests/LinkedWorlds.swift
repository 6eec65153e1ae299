import SegueEngine
import SegueModel
import SegueWire

/// Several devices in virtual time, with linked hubs. Bytes take time.
final class LinkedWorlds {
  let worlds: [World]
  /// The delay of bytes, in milliseconds.
  var delay: Int64 = 20
  private var packets: [Packet] = []
  /// The number of sends from one device to another.
  private(set) var sentCount = 0
  private var wires: [Wire] = []

  private final class Wire {
    let ends: [(world: World, number: HubEngine.PeerNumber)]
    var isOpen = true
    /// Bytes are dropped.
    var isSilent = false
    init(_ ends: [(world: World, number: HubEngine.PeerNumber)]) { self.ends = ends }
  }

  private struct Packet {
    let wire: Wire
    let to: Int
    /// Nil means the end.
    let bytes: [UInt8]?
    let at: Int64
  }

  init(_ count: Int) {
    worlds = (0..<count).map { World(device: UInt64($0 + 1)) }
    for world in worlds { world.startHub() }
  }

  var now: Int64 { worlds[0].now.uptime }

  /// - Parameter app: of the first device, which asks for the link.
  func link(_ a: Int, _ b: Int, by app: TestApp? = nil) {
    if let app { worlds[a].tell(app) { _ = $0.link(PassedDescriptor(), $1) } }
    let attachment = worlds[a].hub?.takeAttachments().first
    let wire = Wire([(worlds[a], worlds[a].takeNumber()), (worlds[b], worlds[b].takeNumber())])
    wires.append(wire)
    for (index, end) in wire.ends.enumerated() {
      end.world.links.append(
        (
          number: end.number, send: { [unowned self] in self.send($0, on: wire, to: 1 - index) },
          close: { [unowned self] in self.send(nil, on: wire, to: 1 - index) }
        ))
      end.world.hub?.connectedHub(
        end.number, for: index == 0 ? attachment : nil, secret: end.world.identifier(), end.world.now)
      end.world.settle()
    }
  }

  func linkAll() {
    for a in worlds.indices { for b in worlds.indices where a < b { link(a, b) } }
  }

  /// The connections between two devices break, as both notice.
  /// - Parameter count: the number of bytes in flight that still arrive, at each end.
  func cut(_ a: Int, _ b: Int, after count: Int = 0) {
    for wire in between(a, b) where wire.isOpen {
      for end in 0...1 {
        let bytes = packets.filter { $0.wire === wire && $0.to == end }.flatMap { $0.bytes ?? [] }.prefix(count)
        deliver(Array(bytes), on: wire, to: end)
      }
      close(wire)
    }
  }

  /// Nothing arrives any more, and neither device notices.
  func silence(_ a: Int, _ b: Int) {
    for wire in between(a, b) { wire.isSilent = true }
  }

  func wait(_ milliseconds: Int64) {
    let end = now + milliseconds
    while now < end {
      let next = packets.map { $0.at }.min() ?? end
      let step = max(1, min(next - now, end - now, 50))
      for world in worlds { world.wait(step) }
      deliver()
    }
  }

  private func between(_ a: Int, _ b: Int) -> [Wire] {
    wires.filter { wire in [a, b].allSatisfy { index in wire.ends.contains { $0.world === worlds[index] } } }
  }

  private func close(_ wire: Wire) {
    wire.isOpen = false
    for end in wire.ends {
      end.world.hub?.disconnected(end.number, end.world.now)
      end.world.links.removeAll { $0.number == end.number }
      end.world.settle()
    }
  }

  private func send(_ bytes: [UInt8]?, on wire: Wire, to end: Int) {
    guard wire.isOpen, !wire.isSilent else { return }
    sentCount += 1
    packets.append(Packet(wire: wire, to: end, bytes: bytes, at: now + delay))
  }

  private func deliver() {
    while let index = packets.firstIndex(where: { $0.at <= now }) {
      let packet = packets.remove(at: index)
      guard packet.wire.isOpen, !packet.wire.isSilent else { continue }
      guard let bytes = packet.bytes else {
        close(packet.wire)
        continue
      }
      deliver(bytes, on: packet.wire, to: packet.to)
    }
  }

  private func deliver(_ bytes: [UInt8], on wire: Wire, to index: Int) {
    let end = wire.ends[index]
    end.world.hub?.receive(bytes, from: end.number, end.world.now)
    end.world.settle()
  }
}
