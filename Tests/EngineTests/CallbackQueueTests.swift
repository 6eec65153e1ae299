// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// The callbacks that wait for a host that does not dispatch: the last event of each offer, and a bounded number of
/// others (section 9).
@Suite struct CallbackQueueTests {
  private static func offer(_ number: UInt64, _ title: String = "", size: Int = 0) -> Offer {
    Offer(
      description: OfferDescription(
        id: Identifier(high: 0, low: number), type: "t", title: title + String(repeating: "x", count: size),
        payloadVersion: 0, sizeHint: 0, expirationDate: nil, supportsContinuationStreams: false),
      origin: Identifier(high: 1, low: number), appName: "a", bundleIdentifier: "b", deviceName: "d", rank: number,
      activatedAt: 0)
  }

  private static func receipt(_ number: UInt64, reason: String = "") -> Delivery {
    let receiver = Receiver(
      id: Identifier(high: 2, low: 1), deviceName: "d", appName: "a", bundleIdentifier: "b")
    return .continuationEnded(
      activity: Identifier(high: 0, low: 0),
      Receipt(
        continuation: Identifier(high: 3, low: number), receiver: receiver, outcome: .declined, status: .declined,
        reason: reason, isStale: false, date: 0))
  }

  /// More waits than a host that dispatches would let.
  private static func behind() -> CallbackQueue<Int> {
    var queue = CallbackQueue<Int>()
    for _ in 0...CallbackQueue<Int>.fewWaiting { queue.append(-1) }
    return queue
  }

  /// In a few words each.
  private static func drain(_ queue: inout CallbackQueue<Int>) -> [String] {
    var words: [String] = []
    while let item = queue.popFirst() {
      switch item {
      case .delivery(.offer(let event, let offer)):
        words.append("\(event) \(offer.description.id.bytes.last ?? 0) \(offer.description.title ?? "")")
      case .delivery(.connection(let isReady)): words.append(isReady ? "ready" : "searching")
      case .delivery: words.append("receipt")
      case .other(let number): if number >= 0 { words.append("other \(number)") }
      }
    }
    return words
  }

  @Test func `the ends of attempts are known by their activities until they are taken (R3.6)`() {
    var queue = CallbackQueue<Int>()
    let (activity, other) = (Identifier(high: 0, low: 0), Identifier(high: 0, low: 1))
    queue.append(Self.receipt(1))
    queue.append(Self.receipt(2))
    #expect(queue.hasEnd(of: activity) && !queue.hasEnd(of: other))
    _ = queue.popFirst()
    #expect(queue.hasEnd(of: activity))
    _ = queue.popFirst()
    #expect(!queue.hasEnd(of: activity))
  }

  @Test(arguments: [
    ([Delivery.OfferEvent.appeared, .changed], ["appeared 1 1"]), ([.appeared, .gone], []),
    ([.changed, .changed, .changed], ["changed 1 2"]), ([.changed, .gone], ["gone 1 1"]),
    ([.gone, .appeared], ["changed 1 1"]), ([.gone, .appeared, .gone], ["gone 1 2"]),
    ([.appeared, .gone, .appeared], ["appeared 1 2"]),
  ])
  func `a host that is behind is told once what came of an offer (R2.7)`(events: [Delivery.OfferEvent], told: [String])
  {
    var queue = Self.behind()
    for (index, event) in events.enumerated() { queue.append(.offer(event, Self.offer(1, "\(index)"))) }
    #expect(Self.drain(&queue) == told)
    #expect(queue.isEmpty)
    queue = Self.behind()
    queue.append(.offer(.appeared, Self.offer(1, "new")))
    #expect(Self.drain(&queue) == ["appeared 1 new"])
  }

  @Test func `one that is not is told all of it (R2.7)`() {
    var queue = CallbackQueue<Int>()
    for event in [Delivery.OfferEvent.appeared, .changed, .gone] { queue.append(.offer(event, Self.offer(1))) }
    #expect(Self.drain(&queue) == ["appeared 1 ", "changed 1 ", "gone 1 "])
  }

  @Test func `the rest keeps its order, and the connection is as it was last (R2.7)`() {
    var queue = Self.behind()
    queue.append(7)
    queue.append(.offer(.appeared, Self.offer(1)))
    for isReady in [false, true, false, true, false] { queue.append(.connection(isReady: isReady)) }
    queue.append(.offer(.changed, Self.offer(1, "later")))
    queue.append(8)
    #expect(Self.drain(&queue) == ["other 7", "appeared 1 later", "searching", "other 8"])
    for isReady in [true, false, true, false] { queue.append(.connection(isReady: isReady)) }
    #expect(Self.drain(&queue) == ["ready", "searching"])
  }

  @Test func `offers that come and go for ever take no memory (section 9)`() {
    var queue = Self.behind()
    let count = queue.count
    for number in 0..<UInt64(10_000) {
      queue.append(.offer(.appeared, Self.offer(number)))
      queue.append(.offer(.changed, Self.offer(number)))
      queue.append(.offer(.gone, Self.offer(number)))
      queue.append(-1)
      _ = queue.popFirst()
    }
    #expect(queue.count == count && queue.placeCount <= 2 * count + 1)
    #expect(Self.drain(&queue) == [] && queue.placeCount <= 2 * count + 1)
  }

  @Test func `it is full of receipts at a limit in bytes, until they are taken (section 9)`() {
    var queue = CallbackQueue<Int>()
    let reason = String(repeating: "r", count: 1_000)
    var count = 0
    while !queue.isFull {
      queue.append(Self.receipt(UInt64(count), reason: reason))
      count += 1
    }
    #expect(count > 500 && count < 1_000)
    _ = queue.popFirst()
    #expect(!queue.isFull)
    _ = Self.drain(&queue)
    queue.append(Self.receipt(0))
    #expect(!queue.isFull)
  }

  @Test func `an app whose host takes nothing takes no continuations, and ends those that it has (section 9)`() throws {
    let scene = try HostilePeerTests.Fixture(size: 2 * FramedConnection.window)
    let peer = try RawPeer(app: "peer", in: scene.world)
    let taken = scene.attempt
    _ = try scene.say(.fetch(taken, milliseconds: 10_000, receiver: nil), by: peer)
    scene.editor.isBacklogged = true
    #expect(try scene.say(.outcome(scene.attempt, .declined, nil, receiver: nil), by: peer) == [])
    _ = try scene.world.continue(in: scene.viewer)
    #expect(scene.viewer.takeEvents() == ["will_continue", "did_fail limitExceeded"])
    #expect(try scene.say(.outcome(taken, .declined, nil, receiver: nil), by: peer) == ["ended declined"])
    scene.editor.isBacklogged = false
    _ = try scene.world.continue(in: scene.viewer)
    #expect(scene.viewer.takeEvents() == ["will_continue", "continue"])
  }

  // MARK: A hub that says too much

  @Test func `of more offers than there is room for the hindmost go (section 9)`() {
    var list = OfferList(bytesLimit: 100_000)
    var told = Set<UInt64>()
    func put(_ number: UInt64) {
      let timing = OfferTiming(age: 0, remaining: nil)
      list.put(Self.offer(number, size: 1_000), timing, Instant(uptime: 0, date: 0)) { event, offer in
        if event == .gone { told.remove(offer.rank) } else { told.insert(offer.rank) }
      }
    }
    for number in 1...UInt64(1_000) { put(number) }
    #expect(list.bytes <= 100_000 && list.bytes > 90_000)
    #expect(list.all.map { $0.rank } == told.sorted().reversed() && list.all.first?.rank == 1_000)
    // One that is behind all others does not even come.
    put(0)
    #expect(!told.contains(0) && list.all.count == told.count)
    for number in told { list.remove(Identifier(high: 0, low: number)) { _, _ in } }
    #expect(list.bytes == 0)
  }

  @Test func `a hub that asks and does not read is left (section 9)`() throws {
    let hub = try RawHub(for: try Continued())
    for number in 0..<UInt64(2_000) {
      for _ in 1..<100 { hub.link.send(try Message.ping(number).encoded()) }
      try hub.say(.ping(number))
      guard let link = hub.app.engine.link else { break }
      #expect(link.pendingBytes <= HubConnection.backlogLimit + 64)
    }
    #expect(hub.departure != nil, "it goes on for ever")
  }

  @Test func `a link that is told to be there again and again is told to the app once (section 9)`() throws {
    let hub = try RawHub(for: try Continued())
    let number = hub.tell { $0.link(FleetDescriptor(), $1) }
    for _ in 0..<10 { try hub.say(.linkUp(number, deviceName: "away")) }
    #expect(hub.app.takeEvents().filter { $0.hasPrefix("linked") }.count == 1)
  }
}
