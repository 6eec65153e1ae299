import SegueModel
import SegueWire

/// Explains to an app which others would not see its activity, and why (R6.5).
struct Explain {
  let request: UInt64
  let activity: Identifier
  let type: String
}

/// The questions of an app that wait for their answer.
struct ExplanationQueue {
  fileprivate var questions: [Explain] = []
  /// The uptime from which on the next one may be answered.
  fileprivate(set) var nextAt: Int64 = 0
}

/// Apps that have asked for explanations and wait for them.
struct ExplainedPeers {
  fileprivate var peers: [Peer] = []

  var isEmpty: Bool { peers.isEmpty }
  var nextDeadline: Int64? { peers.compactMap { $0.appSession?.explanations.nextAt }.min() }
}

/// Explanations are much longer than their questions: each is bounded, and an app gets one at a time.
extension HubEngine {
  /// The most bytes of names in one explanation.
  static let explanationSize = 4 * 1024
  /// Milliseconds between two explanations for the same app.
  static let explainTime: Int64 = 10
  /// The most waiting questions of one app.
  static let explainLimit = 16

  @inline(never)
  func ask(_ explain: Explain, _ peer: Peer) {
    guard let app = peer.appSession else { return }
    let queue = app.explanations
    if queue.questions.isEmpty, queue.nextAt <= now.uptime { return answer(explain, peer, app) }
    guard queue.questions.count < Self.explainLimit else {
      return dismiss(peer, SegueError(.limitExceeded, "too many explanations are asked for"))
    }
    if queue.questions.isEmpty { explainedPeers.peers.append(peer) }
    app.explanations.questions.append(explain)
  }

  func tickExplains() {
    guard !explainedPeers.isEmpty else { return }
    for peer in explainedPeers.peers {
      guard let app = peer.appSession, app.explanations.nextAt <= now.uptime else { continue }
      answer(app.explanations.questions.removeFirst(), peer, app)
    }
    explainedPeers.peers.removeAll { $0.appSession?.explanations.questions.isEmpty ?? true }
  }

  /// The app is gone.
  func dropExplains(of peer: Peer) {
    guard let app = peer.appSession, !app.explanations.questions.isEmpty else { return }
    app.explanations.questions = []
    explainedPeers.peers.removeAll { $0 === peer }
  }

  @inline(never)
  private func answer(_ explain: Explain, _ peer: Peer, _ session: AppSession) {
    let app = session.identity
    session.explanations.nextAt = now.uptime + Self.explainTime
    var explanations: [Message.Explanation] = []
    if let offer = session.offer, offer.description.id == explain.activity, !isOffered(offer) {
      explanations.append(Message.Explanation(appName: app.name, obstacle: .notFrontmost))
    }
    var size = 0
    for other in peers.apps where other !== peer {
      guard let identity = other.app, let obstacle = Routing.obstacle(for: identity, origin: app, type: explain.type)
      else { continue }
      size += identity.name.utf8.count
      guard size <= Self.explanationSize else { break }
      explanations.append(Message.Explanation(appName: identity.name, obstacle: obstacle))
    }
    let appCount = UInt64(max(0, peers.apps.count - 1))
    send(.explanation(request: explain.request, explanations, appCount: appCount), to: peer)
  }
}
