// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel

/// A responder as its scripted app remembers it.
struct ScriptedResponder {
  let live: LiveResponder
  let number: UInt64
  let updates: Bool
  var activity: Identifier?
  var next: UInt64?
}

/// A window of a scripted app, as its host has it.
private final class ScriptedWindow: LiveResponder {
  /// Released before its app.
  private var script: ScriptedApp?
  private let isUpdated: Bool

  init(of script: ScriptedApp, updates: Bool) {
    self.script = script
    isUpdated = updates
    super.init(of: script.app)
  }

  override var updates: Bool { isUpdated }

  override func update(_ activity: LiveActivity, _ save: PendingSave) -> Reply {
    script?.update(activity, save, engineResponder?.number ?? 0) ?? .yes
  }

  override func destroy() { script = nil }
}

/// The responders of a scripted app, in the order in which they got their activities, and where their chain starts.
struct ScriptedResponders {
  static let limit = 4
  private(set) var all: [ScriptedResponder] = []
  var main: UInt64?

  subscript(number: UInt64?) -> ScriptedResponder? { all.first { $0.number == number } }

  mutating func add(_ live: LiveResponder, updates: Bool) {
    guard let number = live.engineResponder?.number else { return }
    all.append(ScriptedResponder(live: live, number: number, updates: updates))
  }

  mutating func remove(_ index: Int) { all.remove(at: index) }

  mutating func give(_ activity: Identifier?, to index: Int) {
    guard all[index].activity != activity else { return }
    var responder = all.remove(at: index)
    responder.activity = activity
    all.append(responder)
  }

  /// All that have one activity get another, in their order.
  mutating func move(_ activity: Identifier, to other: Identifier) {
    for responder in all where responder.activity == activity {
      if let index = all.firstIndex(where: { $0.number == responder.number }) { give(other, to: index) }
    }
  }

  mutating func setNext(_ next: UInt64?, of index: Int) { all[index].next = next }

  mutating func forget(_ activity: Identifier) {
    for index in all.indices where all[index].activity == activity { all[index].activity = nil }
  }

  /// From the start, innermost first.
  func chain(from start: UInt64?) -> [ScriptedResponder] {
    var chain: [ScriptedResponder] = []
    var next = start
    while let here = self[next] {
      chain.append(here)
      next = here.next
    }
    return chain
  }

  /// Whom a save of an activity asks (R4.2).
  func plan(for activity: Identifier) -> [UInt64] {
    func asked(_ responder: ScriptedResponder) -> Bool { responder.activity == activity && responder.updates }
    let inner = chain(from: main)
    let others = all.filter { other in asked(other) && !inner.contains { $0.number == other.number } }
    return others.map { $0.number } + inner.filter { asked($0) }.map { $0.number }.reversed()
  }
}

/// A scripted app with windows: what it does with its responders, and what must come of it (R4.3, R4.4).
extension ScriptedApp {
  func addResponder(updates: Bool) {
    process.does("adds a responder")
    let window = ScriptedWindow(of: self, updates: updates)
    try? app.add(window)
    responders.add(window, updates: updates)
  }

  func removeResponder(_ index: Int) {
    process.does("removes a responder")
    let window = responders.all[index].live
    responders.remove(index)
    window.lastHandleReleased()
    checkChain()
  }

  /// - Parameter place: of an activity among its own, and then those that it keeps; nil or beyond: none.
  func giveActivity(_ place: Int?, to index: Int) {
    let all = activities.all
    let known = place.flatMap { $0 < all.count ? all[$0] : nil }
    process.does(known == nil ? "takes an activity from a responder" : "gives a responder an activity")
    let window = responders.all[index].live
    responders.give(known?.id, to: index)
    try? app.setActivity(known?.live, of: window)
    checkChain()
  }

  func linkResponder(_ index: Int, to other: Int?) {
    let window = responders.all[index].live
    let next = other.map { responders.all[$0] }
    let isLoop = responders.chain(from: next?.number).contains { $0.live === window }
    process.does("links responders")
    var isRefused = false
    do throws(SegueError) { try app.setNext(next?.live, of: window) } catch { isRefused = true }
    if isLoop != isRefused { process.complain("R4.3: a loop is an error, and nothing else is") }
    // A refused link changes nothing, also where the app has made another activity current by hand.
    guard !isRefused, !isLoop else { return }
    responders.setNext(next?.number, of: index)
    checkChain()
  }

  func setMainResponder(_ index: Int?) {
    process.does("its user turns to a responder")
    let responder = index.map { responders.all[$0] }
    responders.main = responder?.number
    try? app.setMainResponder(responder?.live)
    checkChain()
  }

  func releaseResponders() {
    while !responders.all.isEmpty { removeResponder(responders.all.count - 1) }
  }

  /// The current activity is that of the first responder in the chain that has one.
  private func checkChain() {
    guard let engine else { return }
    let first = responders.chain(from: responders.main).compactMap { $0.activity }.first
    if let first, engine.currentActivity != first {
      process.complain("R4.3: the current activity is not that of the first responder that has one")
    }
    if first == nil, let current = engine.currentActivity, engine.manages(current) {
      process.complain("R4.3: no responder of the chain has it, and it is current")
    }
  }
}
