// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The activities that are saved for search.
@Suite struct SearchableTests {
  @Test func `R8.1, R10.2: an activity is searchable if it is eligible, and not private`() throws {
    var activity = try Activity(type: "com.example.note")
    #expect(!activity.isSearchable)
    activity.setEligible(.search, true)
    #expect(activity.isSearchable)
    activity.setPrivate(true)
    #expect(!activity.isSearchable)
  }
}
