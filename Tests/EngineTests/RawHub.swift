import SegueEngine
import SegueModel
import SegueWire

/// A hub without an engine, for one app that has continued an activity: it says what it wants, and reads nothing.
final class RawHub {
  let app: TestApp
  let link = Link(side: .accepting)
  private let now: Moment

  init(for scene: Continued, _ limits: Limits = Limits(), welcoming: Bool = true) throws {
    app = TestApp(scene.viewer.engine.identity, limits, .whenPulled)
    now = scene.world.now
    app.engine.connected(now)
    if welcoming { try say(.welcome(version: ProtocolVersion.current, generation: 1, deviceName: "here")) }
  }

  func say(_ message: Message) throws {
    link.send(try message.encoded())
    flush()
  }

  /// - Returns: the channel that `message` names, on which the bytes then follow.
  func say(_ bytes: [UInt8], _ message: (Link.Channel) -> Message) throws {
    let channel = link.open()
    link.send(try message(channel).encoded())
    link.write(bytes[...], to: channel)
    link.finish(channel)
    flush()
  }

  /// Calls the engine, and lets the app handle the results.
  func tell<Result>(_ call: (AppEngine, Moment) -> Result) -> Result {
    defer { while app.runDeliveries(now) {} }
    return call(app.engine, now)
  }

  private func flush() {
    while link.takeOutput({ bytes in
      tell { $0.receive(Array(bytes), $1) }
      return bytes.count
    }) {}
  }
}
