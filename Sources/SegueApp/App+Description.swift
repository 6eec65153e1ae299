// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

extension App {
  /// The state of the app, for people.
  public func describe() -> String {
    monitor.lock()
    defer { monitor.unlock() }
    var text: [UInt8] = []
    // Names and titles come from other apps.
    func add(_ line: DiagnosticText) {
      if !text.isEmpty { text.append(UInt8(ascii: "\n")) }
      text += Text.oneLine(line.string)
    }
    add("app \(settings.bundleIdentifier) \"\(settings.name)\", team \(settings.team)")
    let chooser: StaticString = settings.isChooser ? " (a chooser: sees all offers)" : ""
    add("  continues: \(list(settings.types))\(chooser)")
    add("  state: \(stateName), callbacks due: \(due.count)")
    if let path = environment.runtimeFolder { add("  runtime folder: \(path)") }
    guard let engine else { return Text.decoded(text) }
    if let generation = engine.hubGeneration {
      let agent: DiagnosticText = engine.hubAgent.map { ", agent \($0.version)" } ?? ""
      let readiness: StaticString = engine.isReady ? "" : ", offers are coming"
      add("  hub: generation \(generation)\(agent)\(readiness)")
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
    return Text.decoded(text)
  }

  private func quoted(_ title: String?) -> DiagnosticText { title.map { "\"\($0)\"" } ?? "without a title" }

  private var stateName: StaticString {
    switch state {
    case .created, .opening: "not open yet"
    case .open: "open"
    case .closing: "closing"
    case .closed: "closed"
    }
  }

  private func list(_ words: [String]) -> DiagnosticText {
    words.isEmpty ? "nothing" : DiagnosticText(of: words.joined(by: ", "))
  }
}
