// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueApp

/// A state that comes back (R3.10) meets an activity that its host changes at the same time.
@Suite struct ReplacedStateTests {
  private func state(_ title: String) throws -> Activity {
    var state = try Activity(type: "com.example.note")
    try state.setTitle(title)
    return state
  }

  @Test func `a state that comes back replaces nothing that has changed since it was compared (R3.10)`() throws {
    let activity = try LiveActivity(try state("first"), app: nil)
    let compared = activity.changes
    try activity.update { (state) throws(SegueError) in try state.setTitle("typed") }
    #expect(activity.replace(with: try state("back"), ifChangeCountIs: compared) == nil)
    #expect(activity.read { $0.title } == "typed")
    let again = activity.changes
    #expect(activity.replace(with: try state("back"), ifChangeCountIs: again)?.title == "back")
    #expect(activity.changes != again, "it counts as a change itself")
    #expect(activity.replace(with: try state("by force"), ifChangeCountIs: nil)?.title == "by force")
  }
}
