import SegueModel

@testable import SegueTrust

/// The owner of a simulated connection, as `DeviceConnectionOwner`.
protocol SimulatedConnectionOwner: AnyObject {
  func failed(_ connection: SimulatedConnection, _ error: SegueError)
  func isUp(_ connection: SimulatedConnection)
  func ended(_ connection: SimulatedConnection)
  func knocked(_ connection: SimulatedConnection)
  func isAuthenticated(_ connection: SimulatedConnection)
  func received(_ frame: Frame, over connection: SimulatedConnection)
}

extension SimulatedConnectionOwner {
  func knocked(_ connection: SimulatedConnection) {}
  func isAuthenticated(_ connection: SimulatedConnection) {}
}

/// Stands for `DeviceConnection` in an agent: a connection to another device, dialled or accepted.
final class SimulatedConnection {
  let number: UInt64
  /// The address of the other end.
  let address: Address
  let isDialled: Bool
  let channel: SimulatedChannel
  var owner: any SimulatedConnectionOwner
  private let machine: Machine
  private let wire: Wire
  private let end: Int
  private(set) var isOver = false
  /// The uptime at which something was heard last.
  private(set) var heardAt: Int64
  /// The frames that have arrived, and that the owner has not been handed yet.
  private var early: [Frame] = []

  init(
    _ wire: Wire, _ end: Int, _ address: Address, as number: UInt64, _ channel: SimulatedChannel, on machine: Machine,
    of owner: any SimulatedConnectionOwner
  ) {
    (self.wire, self.end, self.address, self.number) = (wire, end, address, number)
    (self.channel, self.machine, self.owner) = (channel, machine, owner)
    isDialled = end == 0
    heardAt = machine.now.uptime
  }

  func start() {
    wire.open(
      end, received: { [self] packet in receive(packet) },
      closed: { [self] in
        isOver = true
        owner.failed(self, SegueError(.connectionUnavailable, "the other end has closed it"))
      })
    flush()
  }

  private func receive(_ packet: Packet) {
    guard !isOver else { return }
    heardAt = machine.now.uptime
    let (hadKnocked, wasUp) = (channel.hasKnocked, channel.isUp)
    do throws(SegueError) {
      early += try channel.receive(packet, at: machine.now.seconds)
    } catch {
      flush()
      return owner.failed(self, error)
    }
    if channel.hasKnocked, !hadKnocked { owner.knocked(self) }
    // A dialled connection knows the other end first.
    if isDialled, !channel.isUp, channel.peer != nil { owner.isAuthenticated(self) }
    if isOver { return }
    flush()
    if channel.isUp, !wasUp { owner.isUp(self) }
    passOn()
  }

  /// Passes on what has arrived.
  func passOn() {
    while !early.isEmpty, !isOver { owner.received(early.removeFirst(), over: self) }
  }

  private func flush() { for packet in channel.takeOutput() { wire.send(packet, from: end) } }

  func send(_ frame: Frame) { if channel.isUp, !isOver { wire.send(.frame(frame), from: end) } }

  func close() {
    guard !isOver else { return }
    isOver = true
    wire.close(end)
    owner.ended(self)
  }

  /// The agent is gone.
  func drop(isPowerLost: Bool) {
    isOver = true
    if isPowerLost { wire.vanish(end) } else { wire.close(end) }
  }
}
