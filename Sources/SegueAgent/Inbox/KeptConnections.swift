import SegueEngine
import SegueModel
import SegueRuntime

/// Connects each offer that the agent keeps to the hub, as an app (R2.5). For the loop.
final class KeptConnections {
  private let device: Device
  private var connected: [(offer: KeptParticipant, participant: AgentParticipant<AppEngine>)] = []

  init(on device: Device) { self.device = device }

  func join(_ offer: KeptParticipant) {
    do throws(SegueError) {
      // The offer outlives its participant, which `leave` and `close` end.
      let participant = try AgentParticipant(offer.engine, on: device) { [unowned(unsafe) offer] in offer.settle() }
      connected.append((offer, participant))
    } catch {
      Log.write(.error, "keep offering: \(error.message)")
    }
  }

  func leave(_ offer: KeptParticipant) {
    guard let index = connected.firstIndex(where: { $0.offer === offer }) else { return }
    connected[index].participant.close()
    connected.remove(at: index)
  }

  func close() {
    for each in connected { each.participant.close() }
    connected = []
  }
}
