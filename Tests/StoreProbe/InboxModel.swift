// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueStore

/// The expected content of the inbox, in arrays: written from the rules, not from the code.
struct InboxModel {
  private struct Entry {
    let id: Int
    let app: Int
    let received: Double
    let expires: Double
    var isDelivered = false
    var attempts = 0
    var crashes = 0
    /// When it was acknowledged, dropped or expired.
    var ended: Double?
  }
  private struct Kept {
    let activity: Int
    let kept: Double
    let expires: Double
  }
  private struct Decided {
    let id: Int
    let outcome: Outcome
    let date: Double
    var isConfirmed = false
  }
  private var entries: [Entry] = []
  private var kept: [Kept] = []
  private var choices: [(type: Int, app: Int)] = []
  private var uses: [(app: Int, at: Double)] = []
  private var receipts: [Decided] = []

  /// A restart: what was delivered and not acknowledged waits again.
  mutating func restart() { for index in entries.indices { entries[index].isDelivered = false } }

  /// Runs an operation.
  /// - Returns: its result, as `Inbox.run` gives it.
  mutating func run(_ operation: Operation, at now: Double) -> String {
    switch operation {
    case .put(let id, let app, let expires):
      if let known = entries.first(where: { $0.id == id }) { return known.ended == nil ? "known" : "ended" }
      let date = expires ?? now + 7 * 86_400
      guard date > now else { return "expired" }
      entries.append(Entry(id: id, app: app, received: now, expires: date))
      return "stored"
    case .begin(let app):
      guard !entries.contains(where: { $0.app == app && $0.isDelivered && $0.ended == nil }) else { return "none" }
      let next = entries.firstIndex { $0.app == app && $0.ended == nil && $0.crashes < 3 && $0.expires > now }
      guard let next else { return "none" }
      entries[next].isDelivered = true
      entries[next].attempts += 1
      return "\(entries[next].id) \(entries[next].attempts > 1)"
    case .end(let id, let end):
      guard let index = open(id), entries[index].isDelivered else { return "false" }
      entries[index].isDelivered = false
      if end == .crashed { entries[index].crashes += 1 }
      if end == .untold { entries[index].attempts -= 1 }
      return "true"
    case .acknowledge(let id), .drop(let id):
      guard let index = open(id) else { return "false" }
      entries[index].ended = now
      return "true"
    case .retry(let id):
      guard let index = open(id) else { return "false" }
      entries[index].crashes = 0
      return "true"
    case .keep(let activity, let expires):
      let date = min(expires ?? .infinity, now + 12 * 3_600)
      guard date > now else { return "expired" }
      kept.removeAll { $0.activity == activity }
      kept.append(Kept(activity: activity, kept: now, expires: date))
      return "kept"
    case .withdraw(let activity): return "\(withdraw { $0.activity == activity } != "")"
    case .withdrawOffers(let app): return withdraw { $0.activity % 3 == app }
    case .choose(let app, let type):
      choices.removeAll { $0.type == type }
      if let app { choices.append((type, app)) }
      return ""
    case .markUsed(let app):
      uses.removeAll { $0.app == app }
      uses.append((app, now))
      return ""
    case .forget(let app):
      choices.removeAll { $0.app == app }
      uses.removeAll { $0.app == app }
      _ = withdraw { $0.activity % 3 == app }
      return ""
    case .decide(let id, let outcome):
      guard !receipts.contains(where: { $0.id == id }) else { return "false" }
      receipts.append(Decided(id: id, outcome: outcome, date: now))
      return "true"
    case .confirm(let id):
      guard let index = receipts.firstIndex(where: { $0.id == id && !$0.isConfirmed }) else { return "false" }
      receipts[index].isConfirmed = true
      return "true"
    case .expire: return expire(now)
    }
  }

  private func open(_ id: Int) -> Int? { entries.firstIndex { $0.id == id && $0.ended == nil } }

  private mutating func withdraw(_ isMeant: (Kept) -> Bool) -> String {
    let gone = kept.filter(isMeant).map { "\($0.activity)" }
    kept.removeAll(where: isMeant)
    return gone.joined(separator: " ")
  }

  private mutating func expire(_ now: Double) -> String {
    var gone: [String] = []
    for index in entries.indices where entries[index].ended == nil && !entries[index].isDelivered {
      guard entries[index].expires <= now else { continue }
      entries[index].ended = now
      gone.append("\(entries[index].id)")
    }
    let keptGone = withdraw { $0.expires <= now }
    if !keptGone.isEmpty { gone.append(keptGone) }
    entries.removeAll { $0.ended.map { $0 < now - 7 * 86_400 } ?? false }
    let remembered = entries.map { $0.id }
    receipts.removeAll { $0.date < now - 7 * 86_400 && !remembered.contains($0.id) }
    return gone.joined(separator: " ")
  }

  /// As `Inbox.summary` has it.
  func summary() -> String {
    var lines: [String] = []
    for entry in entries where entry.ended == nil {
      let state = entry.isDelivered ? "delivered" : "waiting"
      lines.append(
        """
        entry \(entry.id) \(Sample.app(entry.app)) \(state) \(entry.attempts) \(entry.crashes) \(entry.id % 2 == 1) \
        \(Int(entry.received)) \(Int(entry.expires)) \(Self.payload(entry.id))
        """)
    }
    for one in kept { lines.append("kept \(Int(one.kept)) \(Int(one.expires)) \(Self.payload(one.activity))") }
    for choice in choices.sorted(by: { $0.type < $1.type }) {
      lines.append("choice \(Sample.type(choice.type)) \(Sample.app(choice.app))")
    }
    let recent = uses.sorted { $0.at != $1.at ? $0.at > $1.at : $0.app < $1.app }
    for use in recent { lines.append("used \(Sample.app(use.app))") }
    for one in receipts where !one.isConfirmed {
      lines.append("receipt \(one.id) \(one.outcome == .restored) \(Int(one.date))")
    }
    return lines.joined(separator: "\n")
  }

  private static func payload(_ number: Int) -> String {
    var text = "\(number % 5 == 0 ? "-" : "Title \(number)") \(Sample.hash(Sample.document(number)))"
    for attachment in Sample.attachments(number) {
      text += " \(attachment.name) \(attachment.size)"
      if case .bytes(let bytes) = attachment.source { text += " \(Sample.hash(bytes))" }
    }
    return text
  }
}
