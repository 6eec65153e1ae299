// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// An app whose hub says anything, while the app goes on with its work: nothing traps, each continuation ends once, and
/// what the app says can be read.
func fuzzApp(_ bytes: UnsafeRawBufferPointer) {
  var input = Input(bytes)
  let app = App()
  while !input.isEmpty { app.step(&input) }
  app.end()
}

private final class App: AppEngineOwner {
  private var engine: AppEngine!
  private var now = Instant(uptime: 1_000_000, date: 1_700_000_000)
  private var hub = Peer()
  private var activities: [Identifier: Activity] = [:]
  private var changes: UInt64 = 0
  private var pendingSaves: [UInt64] = []
  /// Continuations in progress, and whether will_continue has run.
  private var continuations: [(id: Identifier, isAnnounced: Bool)] = []
  private var nextContinuation: UInt64 = 8
  /// Those that were asked for, and have not ended.
  private var links: [UInt64] = []
  /// Requests that it has asked, and that have not ended; others', which it has not answered.
  private var requests: [UInt64] = []
  private var asked: [UInt64] = []
  private var continuedFrom: ContinuedFrom?
  /// Continuations whose `continue` has run without an answer, which may come later.
  private var unanswered: [Identifier] = []
  private var due: [Delivery] = []
  /// Its answers to callbacks, a bit each.
  private var answers: UInt8 = 0

  init() {
    var limits = Limits()
    limits.save = 300
    limits.continuation = 2_000
    let identity = AppIdentity(
      secret: Identifier(high: 0, low: 0), bundleIdentifier: "com.example.app", name: "App", team: "TEAM",
      types: ["note"],
      isChooser: false)
    engine = AppEngine(identity: identity, limits: limits, owner: self)
  }

  func step(_ input: inout Input) {
    switch input.number(below: 16) {
    case 0:
      engine.disconnected(now)
      hub = Peer()
      engine.connected(now)
      if input.bool() {
        receive(Peer.words(.welcome(version: ProtocolVersion.current, generation: 1, deviceName: "here")))
      }
    case 1: engine.disconnected(now)
    case 2...5: receive(Peer.words(&input))
    case 6: wait(&input)
    case 7: becomeCurrent(input.identifier(), &input)
    case 8: change(input.identifier(), &input)
    case 9: engine.setForeground(input.bool(), now)
    case 10: `continue`(&input)
    case 11: answer(&input)
    case 12: if let link = engine.link { _ = hub.hear(link) }
    case 13: answers = input.byte()
    case 14 where input.bool():
      if links.count < 8, !engine.isClosed { links.append(engine.link(PassedDescriptor(), now)) }
    case 14 where input.bool():
      guard let from = continuedFrom, requests.count < 200, !engine.isClosed else { break }
      let bytes = [UInt8](repeating: 7, count: Int(input.byte()) * 600)
      requests.append(engine.request(bytes, from, timeout: input.bool() ? Int64(input.byte()) : nil, now))
    case 14: _ = engine.explain(input.identifier(), activities[input.identifier()], now)
    default: if input.number(below: 8) == 0 { close() } else { runDeliveries() }
    }
    require(engine.brokenInvariant == nil, "\(engine.brokenInvariant ?? "")")
  }

  /// Closed now at the latest, it has nothing in progress.
  func end() {
    close()
    require(continuations.isEmpty, "will_continue, and then nothing (R3.2)")
    require(links.isEmpty, "a link that has no end")
    require(requests.isEmpty, "a request that has no end (R7.5)")
    _ = engine.link.map { hub.hear($0) }
    engine.disconnected(now)
    now.uptime += 100_000
    engine.tick(now)
    require(engine.brokenInvariant == nil, "\(engine.brokenInvariant ?? "")")
  }

  private func close() {
    engine.startClosing(now)
    runDeliveries()
    engine.finishClosing(now)
    runDeliveries()
  }

  private func receive(_ bytes: [UInt8]) {
    guard engine.takeFault() == nil else { return engine.disconnected(now) }
    engine.receive(bytes, with: Peer.descriptor(of: bytes), now)
  }

  private func wait(_ input: inout Input) {
    let milliseconds = Int64(input.byte()) * Int64(input.byte())
    now.uptime += milliseconds
    now.date += Double(milliseconds) / 1000 + (input.byte() == 255 ? 1_000_000 : 0)
    engine.tick(now)
    let deadline = engine.nextDeadline
    require(deadline.map { $0 > now.uptime } ?? true, "a deadline stands still at \(deadline ?? 0)")
  }

  private func becomeCurrent(_ id: Identifier, _ input: inout Input) {
    if activities[id] == nil, var activity = try? Activity(type: "note") {
      let data = [UInt8](repeating: 7, count: Int(input.byte()) * 600)
      let userInfo = try? Value.dictionary([(key: .string("data"), value: .data(data))])
      try? activity.setUserInfo(userInfo, limit: Limits.value)
      activities[id] = activity
    }
    engine.becomeCurrent(id, now)
  }

  private func change(_ id: Identifier, _ input: inout Input) {
    changes += 1
    switch input.number(below: 4) {
    case 0:
      activities[id] = nil
      engine.invalidate(id, now)
    case 1:
      engine.resignCurrent(id, now)
      resumeBack(id)
    case 2:
      try? activities[id]?.setExpirationDate(now.date + Double(input.byte()) - 8)
      engine.changed(id, now)
    default:
      try? activities[id]?.setTitle(input.text(atMost: 4))
      engine.changed(id, now)
    }
  }

  private func `continue`(_ input: inout Input) {
    guard !engine.isClosed, let offer = engine.offers.all.first, nextContinuation < 16 else { return }
    let id = Identifier(high: 0, low: nextContinuation)
    nextContinuation += 1
    continuations.append((id, false))
    engine.continue(offer, id: id, timeout: input.bool() ? Int64(input.byte()) * 10 : nil, now)
  }

  private func resumeBack(_ activity: Identifier) {
    guard !engine.isClosed, nextContinuation < 16 else { return }
    let id = Identifier(high: 0, low: nextContinuation)
    guard engine.resumeBack(activity, id: id, timeout: nil, now) == nil else { return }
    nextContinuation += 1
    continuations.append((id, true))
  }

  /// Answers, or ends, what was left open before.
  private func answer(_ input: inout Input) {
    if let id = unanswered.popLast() { engine.answer(id, handled: input.bool(), restored: input.bool(), now) }
    if let number = asked.popLast() {
      if input.bool() {
        engine.respond(to: number, [UInt8](repeating: 7, count: Int(input.byte()) * 600), now)
      } else {
        engine.refuseRequest(number, SegueError(.declined, "no"))
      }
    }
    if let number = requests.last, input.bool() { engine.cancelRequest(number) }
    if let save = pendingSaves.popLast() { engine.saved(save, now) }
    if let open = continuations.last, input.bool() { engine.cancel(open.id, SegueError(.cancelled, "enough"), now) }
  }

  // MARK: Deliveries

  private func runDeliveries() {
    var rounds = 0
    while !due.isEmpty {
      let told = due
      due = []
      for delivery in told { run(delivery) }
      rounds += 1
      require(rounds < 100, "deliveries without end")
    }
  }

  func deliver(_ delivery: Delivery) { due.append(delivery) }

  private func run(_ delivery: Delivery) {
    switch delivery {
    case .willSave(_, let save): if answers & 1 == 0 { engine.saved(save, now) } else { pendingSaves.append(save) }
    case .continuation(let id): step(id)
    case .linkEnded(let link, _):
      guard let index = links.firstIndex(of: link) else { fatalError("a link ended that was not asked for") }
      links.remove(at: index)
    case .requestCame(let number, _, _): asked.append(number)
    case .answered(let number, _, _):
      guard let index = requests.firstIndex(of: number) else { fatalError("it is over (R7.5)") }
      requests.remove(at: index)
    case .orphaned, .documentChanged, .connection, .offer, .wasContinued, .continuationEnded, .explanation, .linked,
      .streamAnswered, .streamCame, .streamEnded, .log:
      break
    }
  }

  private func step(_ id: Identifier) {
    guard let step = engine.step(id, now) else { return }
    // After continue, with which it is over for R3.2.
    if case .openingFailed = step { return unanswered.removeAll { $0 == id } }
    guard let index = continuations.firstIndex(where: { $0.id == id }) else { fatalError("it is over (R3.2)") }
    switch step {
    case .willContinue:
      require(!continuations[index].isAnnounced, "will_continue twice (R3.1)")
      continuations[index].isAnnounced = true
      engine.announced(id, decline: answers & 2 == 0 ? nil : "no", now)
    case .continue(_, let from):
      continuedFrom = from
      require(continuations[index].isAnnounced, "continue before will_continue (R3.1)")
      continuations.remove(at: index)
      if answers & 4 == 0 {
        engine.answer(id, handled: answers & 8 == 0, restored: answers & 16 == 0, now)
      } else {
        unanswered.append(id)
      }
    case .willResumeBack(let activity, _):
      require(activities[activity] != nil, "what was invalidated comes back (R3.10)")
      engine.answerResumption(id, answers & 32 == 0 ? true : answers & 64 == 0 ? nil : false, now)
    case .resumedBack(let resumed):
      require(activities[resumed.activity] != nil, "what was invalidated comes back (R3.10)")
      continuations.remove(at: index)
      engine.answer(id, handled: true, restored: true, now)
    case .openingFailed: break
    case .didFail:
      require(continuations[index].isAnnounced, "did_fail before will_continue (R3.1)")
      continuations.remove(at: index)
    }
  }

  // MARK: ActivitySource

  func activity(_ id: Identifier) -> Activity? { activities[id] }
  func setNeedsSave(_ needsSave: Bool, of id: Identifier) { activities[id]?.markNeedsSave(needsSave) }
  func lastChange(of id: Identifier) -> Int64 { now.uptime }
  func changeCount(of id: Identifier) -> UInt64 { changes }
  func replace(_ id: Identifier, with state: Activity, ifChangeCountIs count: UInt64?) -> Activity? {
    guard count.map({ $0 == changes }) ?? true else { return nil }
    activities[id]?.replace(with: state)
    return activities[id]
  }
  func continuation(of id: Identifier) -> Identifier? { answers & 32 == 0 ? nil : continuedFrom?.continuation }
  func kept(by continuation: Identifier) -> (activity: Identifier, origin: Identifier)? {
    guard answers & 32 != 0, let id = activities.keys.min() else { return nil }
    return (id, continuation)
  }
  func answersWillSave(_ id: Identifier) -> Bool { answers & 32 == 0 }
  func takesStreams(_ id: Identifier) -> Bool { answers & 64 == 0 }
  func takesRequests(_ id: Identifier) -> Bool { answers & 64 == 0 }
  func streamEnd(_ id: Identifier) -> StreamStatus { answers & 128 == 0 ? .open : .aborted(0) }
}
