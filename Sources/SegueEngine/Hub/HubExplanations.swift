import SegueModel
import SegueWire

/// What an app has asked: which others would not see this activity, and why (R6.5).
struct Explain {
  let request: UInt64
  let activity: Identifier
  let type: String
}

/// Explanations are much longer than the questions: each has a bound, and an app gets one at a time.
extension HubEngine {
  /// Bytes of names in one explanation.
  static let explanationSize = 4 * 1024
  /// Milliseconds from one explanation to the next for the same app.
  static let explainTime: Int64 = 10
  /// Questions of one app that wait.
  static let explainLimit = 16

  @inline(never)
  func ask(_ explain: Explain, _ peer: Peer) {
    if peer.explains.isEmpty, peer.explainsAt <= now.uptime { return answer(explain, peer) }
    guard peer.explains.count < Self.explainLimit else {
      return dismiss(peer, SegueError(.limitExceeded, "too many explanations are asked for"))
    }
    if peer.explains.isEmpty { explained.append(peer) }
    peer.explains.append(explain)
  }

  func tickExplains() {
    guard !explained.isEmpty else { return }
    for peer in explained where peer.explainsAt <= now.uptime { answer(peer.explains.removeFirst(), peer) }
    explained.removeAll { $0.explains.isEmpty }
  }

  /// The app is gone.
  func dropExplains(of peer: Peer) {
    guard !peer.explains.isEmpty else { return }
    peer.explains = []
    explained.removeAll { $0 === peer }
  }

  @inline(never)
  private func answer(_ explain: Explain, _ peer: Peer) {
    guard let app = peer.app else { return }
    peer.explainsAt = now.uptime + Self.explainTime
    var explanations: [Message.Explanation] = []
    if let offer = peer.offer, offer.description.id == explain.activity, !isOffered(offer) {
      explanations.append(Message.Explanation(appName: app.name, obstacle: .notFrontmost))
    }
    var size = 0
    for other in peerList where other !== peer {
      guard let identity = other.app, let obstacle = Routing.obstacle(for: identity, origin: app, type: explain.type)
      else { continue }
      size += identity.name.utf8.count
      guard size <= Self.explanationSize else { break }
      explanations.append(Message.Explanation(appName: identity.name, obstacle: obstacle))
    }
    let appCount = UInt64(max(0, peerList.count - 1))
    send(.explanation(request: explain.request, explanations, appCount: appCount), to: peer)
  }
}
