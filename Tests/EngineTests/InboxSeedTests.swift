// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

/// R3.8 at random: whoever dies between any two steps, and whatever the disk does, nothing that was stored is lost, and
/// what comes twice is marked.
@Suite struct InboxSeedTests {
  @Test(arguments: 0..<150)
  func `R3.8: nothing is lost, and twice only when marked redelivered`(seed: Int) throws {
    try InboxWorkload(seed: UInt64(seed)).play()
  }
}

/// A device whose agent, apps and disk have a hard time.
private final class InboxWorkload {
  private var random: Seeded
  private let seed: UInt64
  private let world = World()
  private let inbox = TestInbox()
  private var agents: [TestAgent] = []
  private var editors: [TestApp] = []
  private var activities: [Identifier] = []
  private var viewers: [TestApp] = []
  /// Each delivery that an app has begun to continue: its name, the process, and the agent.
  private var deliveries: [(id: Identifier, viewer: Int, agent: Int, asks: Int)] = []
  /// The number of questions so far. Each may have what an app has had delivered once more (R3.8).
  private var asks = 0
  /// Continuations that viewers have not answered.
  private var unanswered: [(viewer: TestApp, id: Identifier)] = []

  init(seed: UInt64) {
    self.seed = seed
    random = Seeded(state: seed)
  }

  func play() throws {
    startAgent()
    for name in ["editor", "writer"] {
      editors.append(world.open(name))
      activities.append(try world.offer("one", by: editors[editors.count - 1]))
    }
    for _ in 0..<80 {
      let acknowledged = self.acknowledged
      step()
      check(acknowledged)
    }
    let before = acknowledged
    recover()
    check(before)
    #expect(inbox.open.count == 0, "seed \(seed): an entry is lost")
    checkReceipts()
  }

  // MARK: Steps

  private func step() {
    switch number(14) {
    case 0...2:
      guard let agent = world.agent else { return }
      asks += 1
      world.ask(agent, for: activities[number(2)], timeout: timeout)
    case 3, 4: openViewer()
    case 5: if let viewer = openViewers.randomElement(using: &random) { world.kill(viewer) }
    case 6: if let viewer = openViewers.randomElement(using: &random) { world.close(viewer) }
    case 7: if world.agent != nil { killAgent() } else { startAgent() }
    case 8: if world.agent == nil { startAgent() }
    case 9: world.wait([1, 100, 2_000, 25_000][number(4)])
    case 10:
      world.agent?.isStuck = number(2) == 0
      world.settle()
    case 11: inbox.failure = number(2) == 0 ? SegueError(.system, "the disk is full") : nil
    case 12: answer()
    default:
      guard let viewer = openViewers.randomElement(using: &random) else { return }
      viewer.acceptDeliveries(number(2) == 0)
      world.settle()
    }
  }

  private func number(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
  private var timeout: Int64? { [nil, 1, 5_000][number(3)] }
  private var openViewers: [TestApp] { viewers.filter { $0.isOpen } }
  private var acknowledged: Set<Identifier> {
    Set(inbox.entries.filter { $0.isAcknowledged }.map { $0.record.continuation })
  }

  /// Kills the agent. The requests that the disk had not done are lost with it.
  private func killAgent() {
    world.killAgent()
    // Another process may carry the hub meanwhile.
    if number(2) == 0 { world.startHub() }
  }

  private func startAgent() { agents.append(world.startAgent(inbox)) }

  private func openViewer() {
    guard openViewers.count < 3 else { return }
    let viewer = world.open("viewer")
    viewer.answersContinue = number(2) == 0
    viewer.handles = number(4) > 0
    viewer.restores = number(4) > 0
    viewer.declineReason = number(8) == 0 ? "no" : nil
    viewers.append(viewer)
    viewer.acceptDeliveries(number(3) > 0)
    world.settle()
  }

  private func answer() {
    guard let (viewer, id) = unanswered.randomElement(using: &random), viewer.isOpen else { return }
    let (handled, restored) = (number(4) > 0, number(4) > 0)
    world.tell(viewer) { $0.answer(id, handled: handled, restored: restored, $1) }
  }

  /// All faults end, the user asks again for what was given up, and an app opens that restores everything.
  private func recover() {
    inbox.failure = nil
    for viewer in openViewers { world.kill(viewer) }
    if world.agent == nil { startAgent() }
    world.agent?.isStuck = false
    world.settle()
    world.wait(60_000)
    for index in inbox.entries.indices { inbox.entries[index].crashes = 0 }
    let viewer = world.open("viewer")
    viewers.append(viewer)
    viewer.acceptDeliveries()
    world.settle()
    world.wait(60_000)
  }

  // MARK: Invariants

  /// - Parameter former: the entries that were acknowledged before the step.
  private func check(_ former: Set<Identifier>) {
    for (index, viewer) in viewers.enumerated() {
      let known = deliveries.filter { $0.viewer == index }.count
      for (activity, from) in viewer.continued.dropFirst(known) {
        #expect(activity.title == "one")
        #expect(former.contains(from.continuation) == false, "seed \(seed): delivered after its acknowledgement")
        let before = deliveries.filter { $0.id == from.continuation }
        let isRepeated = before.contains { $0.viewer == index && $0.agent == agents.count && $0.asks == asks }
        #expect(!isRepeated, "seed \(seed): twice to one process by one agent")
        #expect(before.isEmpty || from.isRedelivered, "seed \(seed): twice, and not marked")
        deliveries.append((from.continuation, index, agents.count, asks))
        if !viewer.answersContinue { unanswered.append((viewer, from.continuation)) }
      }
    }
  }

  private func checkReceipts() {
    for editor in editors {
      let receipts = editor.receipts
      for receipt in receipts {
        #expect(receipts.count { $0.continuation == receipt.continuation } == 1, "seed \(seed): two receipts")
        guard receipt.outcome == .restored else { continue }
        #expect(deliveries.contains { $0.id == receipt.continuation }, "seed \(seed): restored nowhere")
      }
    }
    for agent in agents {
      for answer in agent.answers {
        guard case .success(let report) = answer, report.outcome == .restored else { continue }
        #expect(acknowledged.contains(report.continuation), "seed \(seed): the requester was told what is not so")
      }
    }
  }
}
