// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueEngine

/// The token of the user's click, by which the window of an app that runs comes to the front.
@Suite final class ActivationTokenTests: InboxScene {
  override init() throws { try super.init() }

  @Test func `an app that runs gets the token with the activity, once`() throws {
    let viewer = openViewer(answers: false)
    world.ask(agent, for: activity, activationToken: "click_TIME1")
    #expect(viewer.continued.map { $0.from.activationToken } == ["click_TIME1"])
    // Another process of the app gets the entry again, without the click.
    world.kill(viewer)
    let next = openViewer()
    #expect(next.continued.map { $0.from.activationToken } == [nil])
  }

  @Test func `an app that was started has the token in its environment, and not once more`() throws {
    world.ask(agent, for: activity, activationToken: "click")
    #expect(agent.launches == ["com.example.viewer"])
    let viewer = openViewer()
    #expect(viewer.continued.map { $0.from.activationToken } == [nil])
  }

  @Test func `each click has its own token, and the last one counts for an entry that waits`() throws {
    let viewer = openViewer(accepts: false)
    world.ask(agent, for: activity, activationToken: "first")
    world.ask(agent, for: activity, activationToken: "second")
    let other = try world.offer("two", by: editor)
    world.ask(agent, for: other)
    accept(viewer)
    #expect(viewer.continued.map { $0.from.activationToken } == ["second", nil])
  }

  @Test func `of the variables of a click the token is the first that is there, if it is not too long`() {
    func token(_ variables: [(String, String)]) -> String? {
      LaunchVariable.activationToken(in: variables.map { LaunchVariable(name: $0.0, value: $0.1) })
    }
    let (wayland, x11) = ("XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID")
    #expect(token([]) == nil && token([("DISPLAY", ":0")]) == nil)
    #expect(token([(x11, "a"), (wayland, "b")]) == "b")
    #expect(token([(x11, "a"), (wayland, "")]) == "a")
    let most = String(repeating: "t", count: Limits.activationToken)
    #expect(token([(wayland, most)]) == most && token([(wayland, most + "t")]) == nil)
    #expect(token([(wayland, "a\0b")]) == nil)
  }
}
