import SegueApp
import SegueEngine
import SegueModel
import SegueRuntime

/// Connects each offer that the agent keeps to the hub, as an app (R2.5). For the loop.
final class KeptConnections {
  private let device: Device
  private var connected: [(offer: KeptParticipant, participant: AgentParticipant<AppEngine>)] = []

  init(on device: Device) { self.device = device }

  /// - Returns: false if the system refuses it.
  func join(_ offer: KeptParticipant) -> Bool {
    do throws(SegueError) {
      // The offer outlives its participant, which `leave` and `close` end.
      let participant = try AgentParticipant(offer.engine, on: device) { [unowned(unsafe) offer] in
        offer.refuseRequests()
      }
      connected.append((offer, participant))
      return true
    } catch {
      Log.write(.error, "keep offering: \(error.message)")
      return false
    }
  }

  func leave(_ offer: KeptParticipant) {
    guard let index = connected.firstIndex(where: { $0.offer === offer }) else { return }
    connected[index].participant.close()
    connected.remove(at: index)
  }

  /// Calls an offer; no effect once it is over.
  func perform(_ offer: KeptParticipant, _ body: () -> Void) {
    connected.first { $0.offer === offer }?.participant.perform { _, _ in body() }
  }

  func close() {
    for each in connected { each.participant.close() }
    connected = []
  }
}
