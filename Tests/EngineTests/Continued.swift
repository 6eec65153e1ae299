// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

/// A viewer that has continued what an editor offers, on one device.
struct Continued {
  let world = World(hasHub: true)
  let editor: TestApp
  let viewer: TestApp
  let activity: Identifier
  let from: ContinuedFrom

  /// - Parameter prepare: before it is continued.
  init(
    editorLimits: Limits = Limits(), viewerLimits: Limits = Limits(),
    prepare: (World, TestApp, Identifier) -> Void = { _, _, _ in }
  ) throws {
    editor = world.open("editor", limits: editorLimits)
    viewer = world.open("viewer", limits: viewerLimits)
    activity = try world.offer("Draft", by: editor)
    prepare(world, editor, activity)
    _ = try world.continue(in: viewer)
    from = try #require(viewer.continued.first?.from)
  }
}
