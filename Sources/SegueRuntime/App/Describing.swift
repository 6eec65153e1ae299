import SegueEngine
import SegueModel
import SegueTransport

extension App {
  /// The state of the app, for people.
  public func describe() -> String {
    monitor.lock()
    defer { monitor.unlock() }
    var lines: [String] = []
    lines.append("app \(settings.bundleIdentifier) \"\(settings.name)\", team \(settings.team)")
    lines.append("  continues: \(list(settings.types))\(settings.isChooser ? " (a chooser: sees all offers)" : "")")
    lines.append("  state: \(stateName), callbacks due: \(due.count)")
    guard let engine else { return joined(lines) }
    let hub = engine.hubGeneration.map { "generation \($0)\(engine.isReady ? "" : ", offers are coming")" }
    lines.append("  hub: \(hub ?? "none yet")")
    if let id = engine.currentActivity, let activity = liveActivity(id) {
      lines.append("  offers: \(activity.read { "\($0.type) \($0.title.map { "\"\($0)\"" } ?? "")" })")
    } else {
      lines.append("  offers: nothing")
    }
    for offer in engine.offers.all {
      let title = offer.description.title.map { " \"\($0)\"" } ?? ""
      lines.append("  sees: \(offer.description.type)\(title) of \(offer.appName) on \(offer.deviceName)")
    }
    for continuation in continuations.values {
      lines.append("  continues now: \(continuation.offer.description.type) of \(continuation.offer.appName)")
    }
    return joined(lines)
  }

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
