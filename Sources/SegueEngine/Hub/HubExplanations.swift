// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Explains to an app which others, and which devices, do not see its activity, and why (R6.5).
struct Explain {
  let request: UInt64
  let activity: Identifier
  let type: String
}

/// The questions of an app that wait for their answer. They are answered one at a time, with a pause between them.
final class ExplanationQueue {
  private var questions: [Explain] = []
  /// The uptime from which on the next one may be answered.
  private var nextAt: Int64 = 0

  var isEmpty: Bool { questions.isEmpty }
  var nextDeadline: Int64? { questions.isEmpty ? nil : nextAt }

  /// - Returns: false if there are too many.
  func append(_ question: Explain) -> Bool {
    guard questions.count < HubExplanations.questionLimit else { return false }
    questions.append(question)
    return true
  }

  func removeAll() { questions = [] }

  /// Removes and returns the next question, if it is due.
  func takeNext(_ now: Int64) -> Explain? {
    guard !questions.isEmpty, nextAt <= now else { return nil }
    nextAt = now + HubExplanations.pause
    return questions.removeFirst()
  }
}

/// Apps that wait for explanations.
final class ExplainedPeers {
  private var peers: [Peer] = []

  var all: [Peer] { peers }
  var isEmpty: Bool { peers.isEmpty }
  var nextDeadline: Int64? { peers.reduce(nil) { earlier($0, $1.appSession?.explanations.nextDeadline) } }

  /// Adds a peer with a waiting question, and removes one without.
  func update(_ peer: Peer) {
    peers.remove(peer)
    if !(peer.appSession?.explanations.isEmpty ?? true) { peers.append(peer) }
  }
}

/// Explanations are much longer than their questions: each is bounded, and an app gets one at a time.
final class HubExplanations: HubFeature {
  /// The most bytes of names in one explanation.
  static let size = 4 * 1024
  /// Milliseconds between two explanations for the same app.
  static let pause: Int64 = 10
  /// The most waiting questions of one app.
  static let questionLimit = 16

  let connections: HubConnections
  private let agent: AgentPresence
  private let offers: HubOffers
  private let explainedPeers = ExplainedPeers()

  init(_ connections: HubConnections, _ agent: AgentPresence, _ offers: HubOffers) {
    self.connections = connections
    self.agent = agent
    self.offers = offers
  }

  var leak: StaticString? { explainedPeers.isEmpty ? nil : "hub: it has not explained what was asked" }
  var nextDeadline: Int64? { explainedPeers.nextDeadline }

  @inline(never)
  func ask(_ explain: Explain, _ peer: Peer) {
    guard let app = peer.appSession else { return }
    guard app.explanations.append(explain) else {
      return disconnect(peer, SegueError(.limitExceeded, "too many explanations are asked for"))
    }
    answerNext(peer, app)
  }

  func tick() {
    for peer in explainedPeers.all { if let app = peer.appSession { answerNext(peer, app) } }
  }

  /// The app is gone.
  func remove(_ peer: Peer) {
    guard let app = peer.appSession, !app.explanations.isEmpty else { return }
    app.explanations.removeAll()
    explainedPeers.update(peer)
  }

  private func answerNext(_ peer: Peer, _ app: AppSession) {
    let explain = app.explanations.takeNext(now.uptime)
    explainedPeers.update(peer)
    if let explain { answer(explain, peer, app) }
  }

  @inline(never)
  private func answer(_ explain: Explain, _ peer: Peer, _ session: AppSession) {
    let app = session.identity
    var explanations: [Message.Explanation] = []
    var size = 0
    func add(_ name: String, _ obstacle: Routing.Obstacle) {
      size += Text.size(name)
      if size <= Self.size { explanations.append(Message.Explanation(name: name, obstacle: obstacle)) }
    }
    let linked = peers.hubs.filter { $0.isLinked && !$0.isClosing }
    let devices = connections.devices
    let hasDevices = devices?.hasOthers ?? false
    var isPublic = false
    if let offer = session.offer, offer.description.id == explain.activity {
      isPublic = offer.description.isPublic
      if !offers.isOffered(offer) { add(app.name, .notFrontmost) }
      if hasDevices || !linked.isEmpty, offers.isPrivate(offer, inAccount: hasDevices) { add(app.name, .isPrivate) }
      explanations += agent.pageReasons?(app, offer.description) ?? []
    }
    for other in devices?.all ?? [] where other.device != devices?.own {
      if !linked.contains(where: { $0.device == other.device }) { add(other.name, .notLinked) }
    }
    for other in peers.apps where other !== peer && !agent.owns(other) {
      guard let identity = other.app,
        let obstacle = Routing.obstacle(for: identity, origin: app, type: explain.type, isPublic: isPublic)
      else { continue }
      add(identity.name, obstacle)
    }
    // Only a linked device knows which offers its apps see: each of these devices counts as an app, and once if both
    // its account and an app link it.
    let hubs = Set(linked.compactMap { $0.hub?.identity.id })
    let appCount = UInt64(max(0, agent.appCount(besides: peer)) + hubs.count)
    send(.explanation(request: explain.request, explanations, appCount: appCount), to: peer)
  }
}
