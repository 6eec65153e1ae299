// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// A device whose agent has an inbox, and an editor whose activity is current. No app is open that continues it.
class InboxScene {
  let world: World
  let agent: TestAgent
  let editor: TestApp
  let activity: Identifier

  init() throws {
    world = World()
    agent = world.startAgent()
    editor = world.open("editor")
    activity = try world.offer("one", by: editor)
  }

  /// The app that the agent has launched opens, and sets its handler.
  final func openViewer(accepts: Bool = true, answers: Bool = true) -> TestApp {
    let viewer = world.open("viewer")
    viewer.answersContinue = answers
    if accepts { accept(viewer) }
    return viewer
  }

  final func accept(_ viewer: TestApp, _ accepts: Bool = true) {
    viewer.acceptDeliveries(accepts)
    world.settle()
  }
}
