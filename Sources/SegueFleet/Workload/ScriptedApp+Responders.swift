import SegueEngine
import SegueModel

/// A responder as its scripted app remembers it.
struct ScriptedResponder {
  let place: Responder
  let updates: Bool
  var activity: Identifier?
  var next: UInt64?

  var number: UInt64 { place.number }
}

/// The responders of a scripted app, in the order in which they got their activities, and where their chain starts.
struct ScriptedResponders {
  static let limit = 4
  private(set) var all: [ScriptedResponder] = []
  var main: UInt64?

  subscript(number: UInt64?) -> ScriptedResponder? { all.first { $0.number == number } }

  mutating func add(_ place: Responder, updates: Bool) {
    all.append(ScriptedResponder(place: place, updates: updates))
  }

  mutating func remove(_ index: Int) { all.remove(at: index) }

  mutating func give(_ activity: Identifier?, to index: Int) {
    guard all[index].activity != activity else { return }
    var responder = all.remove(at: index)
    responder.activity = activity
    all.append(responder)
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
    perform { engine, _ in responders.add(engine.addResponder(self, updates: updates), updates: updates) }
  }

  func removeResponder(_ index: Int) {
    process.does("removes a responder")
    let place = responders.all[index].place
    responders.remove(index)
    perform { $0.removeResponder(place, $1) }
    checkChain()
  }

  /// - Parameter place: of an activity among its own, and then those that it keeps; nil or beyond: none.
  func giveActivity(_ place: Int?, to index: Int) {
    let ids = activityIdentifiers
    let id = place.flatMap { $0 < ids.count ? ids[$0] : nil }
    process.does(id == nil ? "takes an activity from a responder" : "gives a responder an activity")
    let place = responders.all[index].place
    responders.give(id, to: index)
    perform { $0.setActivity(id, of: place, $1) }
    checkChain()
  }

  func linkResponder(_ index: Int, to other: Int?) {
    let place = responders.all[index].place
    let next = other.map { responders.all[$0].place }
    let isLoop = responders.chain(from: next?.number).contains { $0.place === place }
    process.does("links responders")
    var error: SegueError?
    perform { error = $0.setNext(next, of: place, $1) }
    if isLoop != (error != nil) { process.complain("R4.3: a loop is an error, and nothing else is") }
    // What is refused changes nothing, also where the app has made another activity current by hand.
    guard error == nil else { return }
    responders.setNext(next?.number, of: index)
    checkChain()
  }

  func setMainResponder(_ index: Int?) {
    process.does("its user turns to a responder")
    let place = index.map { responders.all[$0].place }
    responders.main = place?.number
    perform { $0.setMainResponder(place, $1) }
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

  /// An activity was left alone (R4.4).
  func decide(_ id: Identifier) {
    let isHeld = responders.all.contains { $0.activity == id }
    var ends = false
    perform { ends = $0.decide(id, $1) }
    if ends == isHeld { process.complain("R4.4: an activity ends if, and only if, no responder has it at its turn") }
    if ends { drop(id) }
  }
}
