// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

@testable import SegueFleet

/// A hub without an engine, for one app that has continued an activity: it says what it wants, and reads nothing unless
/// it is asked to.
final class RawHub {
  let world = World()
  let app: TestApp
  let link = FramedConnection(side: .accepting)
  private let process: FleetProcess
  private let connection: Connection

  /// - Parameter scene: what the app has continued; nil: it does not matter.
  init(for scene: Continued? = nil, _ limits: Limits = Limits(), welcoming: Bool = true) throws {
    let identity = try (scene ?? Continued()).viewer.engine.identity
    app = TestApp(identity, limits, .whenPulled, in: world.process("viewer"))
    world.device.admitsHubs = true
    // The fleet does not know this hub.
    world.fleet.checker.stalled()
    process = world.process("hub")
    connection = Connection(.app(app.process), .app(process))
    try app.process.connected(to: ConnectionEnd(connection, 0, in: world.fleet), generation: 1)
    // It looks for a hub, and has one.
    world.settle()
    if welcoming { try say(.welcome(version: ProtocolVersion.current, generation: 1, deviceName: "here")) }
  }

  func say(_ message: Message) throws {
    link.send(try message.encoded())
    flush()
  }

  /// - Returns: the channel that `message` names, on which the bytes then follow.
  func say(_ bytes: [UInt8], _ message: (FramedConnection.Channel) -> Message) throws {
    let channel = link.open()
    link.send(try message(channel).encoded())
    link.write(bytes[...], to: channel)
    link.finish(channel)
    flush()
  }

  /// The messages that the app has sent since the last call, up to the first bytes of a document.
  func heard() throws -> [Message] {
    while connection.isReadable(1) {
      _ = connection.read(at: 1, atMost: .max, world.fleet) { bytes, _ in link.receive(bytes) }
    }
    var messages: [Message] = []
    while case .message = try link.nextEvent() {
      guard let message = try link.takeMessage(Message.decode) else { continue }
      if case .state(_, _, let channel, _, _, _) = message { try link.accept(channel) }
      messages.append(message)
    }
    return messages
  }

  /// Calls the engine, and lets the app handle the results.
  @discardableResult func tell<Result>(_ call: (AppEngine, Instant) -> Result) -> Result { world.tell(app, call) }

  /// Why the app has left it; nil if it has not, or only because it is too old.
  var departure: SegueError? { app.process.driver?.problem }

  private func flush() {
    while link.takeOutput({ connection.write($0, from: 1, world.fleet) }) {}
    world.settle()
  }
}
