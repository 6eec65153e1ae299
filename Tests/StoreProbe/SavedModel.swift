// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueStore

/// One call of the saved activities; the same seed gives the same calls.
enum SavedOperation {
  case save(SavedActivity)
  case delete(names: [String], app: String)
  case deleteAll(app: String?)
  case expire
}

extension Workload {
  static let words = ["Budget", "report", "Übung", "meeting", "日本語", "本", "notes2024", "한국", "naïve", "reports"]

  mutating func nextSaved() -> SavedOperation {
    _ = next()
    switch below(20) {
    case 0...14: return .save(savedActivity())
    case 15...16: return .delete(names: ["name\(below(8))", "name\(below(8))"], app: Sample.app(below(2)))
    case 17: return .deleteAll(app: below(6) == 0 ? nil : Sample.app(below(2)))
    default: return .expire
    }
  }

  private mutating func savedActivity() -> SavedActivity {
    let number = below(12)
    return SavedActivity(
      app: Sample.app(below(2)), team: "T", activity: Sample.id(number),
      persistentIdentifier: number < 8 ? "name\(number)" : nil,
      type: Sample.type(0), title: text(), keywords: [text(), text()], searchableText: text(),
      document: Sample.document(number), expirationDate: below(3) == 0 ? now + Double(below(20_000)) : nil)
  }

  private mutating func text() -> String {
    (0..<below(3)).map { _ in Self.words[below(Self.words.count)] }.joined(separator: below(2) == 0 ? " " : "-")
  }
}

extension SavedActivities {
  func run(_ operation: SavedOperation, at now: Double) throws(SegueError) -> String {
    switch operation {
    case .save(let activity):
      do throws(SegueError) {
        try save(activity, at: now)
        return "saved"
      } catch {
        guard error.status == .declined || error.status == .invalidState else { throw error }
        return error.status == .declined ? "private" : "expired"
      }
    case .delete(let names, let app): return "\(try delete(names, of: app))"
    case .deleteAll(let app?): return "\(try deleteAll(of: app))"
    case .deleteAll(nil): return "\(try deleteAll())"
    case .expire: return "\(try expire(at: now))"
    }
  }

  /// The count of the saved activities, and the results of a search for each word, and for none, as lines.
  func summary(at now: Double) throws(SegueError) -> String {
    var lines = ["count \(count)"]
    for word in [""] + Workload.words {
      let found = try search(word, at: now, limit: 100)
      var line = "\(word):"
      for one in found { line += " \(one.app)/\(one.activity.number)/\(Sample.hash(try document(of: one)))" }
      lines.append(line)
    }
    return lines.joined(separator: "\n")
  }
}

/// The expected saved activities, newest last: written from the rules, not from the code.
struct SavedModel {
  private var saved: [(activity: SavedActivity, expires: Double)] = []

  mutating func run(_ operation: SavedOperation, at now: Double) -> String {
    switch operation {
    case .save(let activity):
      let isEarlier = { (one: SavedActivity) in
        guard one.app == activity.app else { return false }
        if let name = activity.persistentIdentifier { return one.persistentIdentifier == name }
        return one.persistentIdentifier == nil && one.activity == activity.activity
      }
      let expires = activity.expirationDate ?? now + 30 * 86_400
      guard expires > now else { return "expired" }
      saved.removeAll { isEarlier($0.activity) }
      saved.append((activity, expires))
      return "saved"
    case .delete(let names, let app):
      return remove { one in one.activity.app == app && names.contains { $0 == one.activity.persistentIdentifier } }
    case .deleteAll(let app): return remove { app == nil || $0.activity.app == app }
    case .expire: return remove { $0.expires <= now }
    }
  }

  private mutating func remove(_ isMeant: ((activity: SavedActivity, expires: Double)) -> Bool) -> String {
    let before = saved.count
    saved.removeAll(where: isMeant)
    return "\(before - saved.count)"
  }

  func summary(at now: Double) -> String {
    var lines = ["count \(saved.count)"]
    for word in [""] + Workload.words {
      var line = "\(word):"
      for one in saved.reversed() where one.expires > now && Self.has(one.activity, word) {
        let activity = one.activity
        line += " \(activity.app)/\(activity.activity.number)/\(Sample.hash(activity.document))"
      }
      lines.append(line)
    }
    return lines.joined(separator: "\n")
  }

  /// Whether the tokens of a word stand in a row in one of the texts.
  private static func has(_ activity: SavedActivity, _ word: String) -> Bool {
    let wanted = tokens(word)
    if wanted.isEmpty { return true }
    return [activity.title ?? "", activity.keywords.joined(separator: " "), activity.searchableText].contains { text in
      let there = tokens(text)
      guard there.count >= wanted.count else { return false }
      return (0...there.count - wanted.count).contains { Array(there[$0..<$0 + wanted.count]) == wanted }
    }
  }

  /// The tokens of a text that is made of the few words above: lower case, without accents, each character beyond Latin
  /// by itself.
  private static func tokens(_ text: String) -> [String] {
    var found: [String] = []
    var word = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "A"..."Z": word.unicodeScalars.append(Unicode.Scalar(UInt8(scalar.value) + 32))
      case "a"..."z", "0"..."9": word.unicodeScalars.append(scalar)
      case "Ü": word += "u"
      case "ï": word += "i"
      default:
        if !word.isEmpty { found.append(word) }
        word = ""
        if scalar.value > 0x3000 { found.append(String(Character(scalar))) }
      }
    }
    if !word.isEmpty { found.append(word) }
    return found
  }
}
