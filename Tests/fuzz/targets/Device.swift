// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

@testable import SegueEngine
@testable import SegueFleet

/// A device with honest apps, and one connection that says anything: it may be turned away, but the apps keep their
/// hub, and each of their continuations ends once (R3.2).
func fuzzDevice(_ bytes: UnsafeRawBufferPointer) {
  // As `World` names them: the hub and apps are 1 to 3, what they make comes after.
  var input = Input(bytes, names: 0x5e90e)
  let story = FuzzScript(asHub: input.bool())
  while !input.isEmpty { story.step(&input) }
  story.end()
}

private final class FuzzScript {
  private let world = World()
  private var apps: [TestApp] = []
  /// The callbacks of each app so far.
  private var events: [[String]] = []
  private let isHub: Bool
  private var stranger: RawPeer?

  init(asHub: Bool) {
    isHub = asHub
    world.startHub()
    for name in ["a", "b"] {
      apps.append(world.open(name))
      events.append([])
    }
    connect()
  }

  func step(_ input: inout Input) {
    let app = apps[input.number(below: apps.count)]
    switch input.number(below: 12) {
    case 0: _ = try? world.offer("title", by: app)
    case 1: if !app.engine.offers.all.isEmpty { _ = try? world.continue(in: app) }
    case 2: app.answersSaves.toggle()
    case 3: app.answersContinue.toggle()
    case 4: world.wait(Int64(input.byte()) * 8)
    case 5: connect()
    default: say(&input)
    }
    check()
  }

  func end() {
    // Longer than any deadline.
    world.wait(60_000)
    check()
    for told in events {
      let begun = told.count { $0 == "will_continue" }
      let ended = told.count { $0 == "continue" || $0.hasPrefix("did_fail") }
      require(begun == ended, "a continuation did not end once (R3.2)")
    }
  }

  /// Anew, if it was turned away.
  private func connect() {
    guard stranger?.isConnected != true else { return }
    let id = Identifier(high: 9, low: 9)
    if isHub {
      stranger = try? RawPeer(hubIn: world, as: id)
      try? stranger?.resume()
    } else {
      stranger = try? RawPeer(app: "c", as: id, in: world)
    }
  }

  private func say(_ input: inout Input) {
    guard input.number(below: 4) > 0 else { return say(Peer.words(&input), 1) }
    let message = input.message()
    // Another app's name would end that app's connection, as if it had connected again.
    if case .hello = message { return }
    say(message, input.number(below: 4) == 3 ? Int(input.byte()) * 2 : 1)
  }

  private func say(_ message: Message, _ times: Int) { say(Peer.words(message), times) }

  private func say(_ bytes: [UInt8], _ times: Int) {
    for _ in 0..<times {
      stranger?.say(bytes, with: Peer.descriptor(of: bytes).flatMap { _ in stranger?.makeStream() })
    }
  }

  private func check() {
    for (index, app) in apps.enumerated() {
      require(app.process.isAtHub, "an app lost its hub")
      require(app.engine.brokenInvariant == nil && world.hub?.brokenInvariant == nil, "an invariant is broken")
      events[index] += app.takeEvents()
    }
  }
}
