import SegueEngine
import SegueModel
import SegueTransport

extension App {
  /// The state of the app, for people.
  public func describe() -> String {
    monitor.lock()
    defer { monitor.unlock() }
    var lines: [String] = []
    // Names and titles come from other apps.
    func add(_ line: DiagnosticText) { lines.append(String(decoding: Text.oneLine(line.string), as: UTF8.self)) }
    add("app \(settings.bundleIdentifier) \"\(settings.name)\", team \(settings.team)")
    add("  continues: \(list(settings.types))\(settings.isChooser ? " (a chooser: sees all offers)" : "")")
    add("  state: \(stateName), callbacks due: \(due.count)")
    guard let engine else { return joined(lines) }
    if let generation = engine.hubGeneration {
      let agent: DiagnosticText = engine.hubAgent.map { ", agent \($0.version)" } ?? ""
      add("  hub: generation \(generation)\(agent)\(engine.isReady ? "" : ", offers are coming")")
    } else {
      add("  hub: none yet")
    }
    if let id = engine.currentActivity, let activity = activities[id] {
      activity.read { add("  offers: \($0.type) \(quoted($0.title))") }
    } else {
      add("  offers: nothing")
    }
    for offer in engine.offers.all {
      add(
        "  sees: \(offer.description.type) \(quoted(offer.description.title)) of \(offer.appName) on \(offer.deviceName)"
      )
    }
    for case .continuation(let continuation) in pending.all {
      add("  continues now: \(continuation.offer.description.type) of \(continuation.offer.appName)")
    }
    return joined(lines)
  }

  private func quoted(_ title: String?) -> DiagnosticText { title.map { "\"\($0)\"" } ?? "without a title" }

  private var stateName: String {
    switch state {
    case .created, .opening: "not open yet"
    case .open: "open"
    case .closing: "closing"
    case .closed: "closed"
    }
  }

  private func list(_ words: [String]) -> String {
    words.isEmpty ? "nothing" : words.dropFirst().reduce(words[0]) { $0 + ", " + $1 }
  }

  private func joined(_ lines: [String]) -> String {
    lines.dropFirst().reduce(lines[0]) { $0 + "\n" + $1 }
  }
}
