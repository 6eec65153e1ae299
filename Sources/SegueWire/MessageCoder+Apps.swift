// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Apps in messages: who they are, what they open, what is delivered to them.
extension MessageCoder {
  mutating func code(_ agent: AgentDescription?, isLast: Bool) -> AgentDescription? {
    guard hasValue(agent != nil, isLast: isLast) else { return nil }
    enter("an agent")
    let coded = AgentDescription(
      version: code(agent?.version ?? ""), capabilities: code(agent?.capabilities ?? 0),
      participant: code(orNull: agent?.participant))
    leave()
    return coded
  }

  mutating func code(_ app: AppIdentity) -> AppIdentity {
    let secret = code(app.secret)
    let bundleIdentifier = code(app.bundleIdentifier)
    let name = code(app.name)
    let team = code(app.team)
    let types = code(types: app.types)
    let isChooser = code(app.isChooser)
    guard isReading else { return app }
    return AppIdentity(
      secret: secret, bundleIdentifier: bundleIdentifier, name: name, team: team, types: types, isChooser: isChooser)
  }

  mutating func code(_ manifest: AppManifest?) -> AppManifest? {
    guard hasValue(manifest != nil, isLast: true) else { return nil }
    enter("a manifest")
    let name = code(optional: manifest?.name)
    let team = code(optional: manifest?.team)
    let types = code(types: manifest?.types ?? [])
    enter("a list of document types")
    if count > 3 * Limits.typesPerApp { fail("a list of document types") }
    let blank = AppManifest.Document(role: .editor, contentType: "", activityType: "")
    let documents = code(manifest?.documents ?? [], blank: blank) { (coder, document) in
      let role = AppManifest.Document.Role(rawValue: coder.code(document.role.rawValue))
      let contentType = coder.code(document.contentType, atMost: Limits.type)
      let activityType = coder.code(document.activityType, atMost: Limits.type)
      // A role of newer peers is none that documents here can have.
      return role.map { AppManifest.Document(role: $0, contentType: contentType, activityType: activityType) }
    }
    leave()
    leave()
    return isReading ? AppManifest(name: name, team: team, types: types, documents: documents) : manifest
  }

  private mutating func code(optional text: String?) -> String? { hasValue(text != nil) ? code(text ?? "") : nil }

  private mutating func code(types: [String]) -> [String] {
    enter("a list of types")
    if count > Limits.typesPerApp { fail("a list of types") }
    let coded = code(types, blank: "") { (coder, type) in coder.code(type, atMost: Limits.type) }
    leave()
    return coded
  }

  /// An app without its secret.
  mutating func code(known app: AppIdentity) -> AppIdentity {
    let id = code(app.id)
    let bundleIdentifier = code(app.bundleIdentifier)
    let name = code(app.name)
    let team = code(app.team)
    let types = code(types: app.types)
    guard isReading else { return app }
    return AppIdentity(known: id, bundleIdentifier: bundleIdentifier, name: name, team: team, types: types)
  }

  mutating func code(_ delivery: Message.DeliverRequest) -> Message.DeliverRequest {
    let continuation = code(delivery.continuation)
    let to = code(delivery.to)
    let milliseconds = code(milliseconds: delivery.milliseconds)
    let isRedelivered = code(delivery.isRedelivered)
    let (offer, timing) = code(delivery.offer, delivery.timing)
    let token = code(optional: delivery.activationToken, atMost: Limits.activationToken, isLast: true)
    guard isReading else { return delivery }
    return Message.DeliverRequest(
      continuation: continuation, to: to, offer: offer, timing: timing, milliseconds: milliseconds,
      isRedelivered: isRedelivered, activationToken: token)
  }

  mutating func code(_ sessions: [Message.SharedSession]) -> [Message.SharedSession] {
    enter("a list of sessions")
    if count % 2 != 0 || count > 2 * Message.SharedSession.limit { fail("a list of sessions") }
    let blank = Message.SharedSession(secret: .blank, isConnected: false)
    let coded = code(sessions, blank: blank) { (coder, session) in
      Message.SharedSession(secret: coder.code(session.secret), isConnected: coder.code(session.isConnected))
    }
    leave()
    return coded
  }

  /// Skips obstacles of newer peers.
  mutating func code(_ explanations: [Message.Explanation]) -> [Message.Explanation] {
    enter("a list of explanations")
    if count % 2 != 0 { fail("a list of explanations") }
    let blank = Message.Explanation(name: "", obstacle: .isOrigin)
    let coded = code(explanations, blank: blank) { (coder, explanation) in
      let name = coder.code(explanation.name, atMost: Frame.messageLimit)
      return Routing.Obstacle(rawValue: coder.code(explanation.obstacle.rawValue)).map {
        Message.Explanation(name: name, obstacle: $0)
      }
    }
    leave()
    return coded
  }
}
