// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet

/// Documents that move while another app has their activities (R5.2).
@Suite struct MovedDocumentTests {
  private let fleet = Fleet(seed: 1)
  private let device: FleetDevice

  init() throws { device = try fleet.addDevice("phone") }

  private func open(_ name: String) throws -> ScriptedApp {
    try ScriptedApp(
      AppIdentity(
        secret: fleet.drawIdentifier(), bundleIdentifier: "com.example.\(name)", name: name, team: "TEAM",
        types: ["com.example.note"], isChooser: false), on: device)
  }

  @Test func `a state that comes back names the document where it is now, and needs no saving (R3.10, R5.2)`() throws {
    let (editor, viewer) = (try open("editor"), try open("viewer"))
    fleet.advance(1_000)
    try editor.openDocument(1)
    editor.makeDocumentCurrent(0)
    fleet.advance(3_000)
    viewer.continue(try #require(viewer.offers.first), fleet.drawIdentifier())
    fleet.advance(1_000)
    #expect(viewer.activities.kept.first?.activity.documentURL == "file:///docs/d1")
    try editor.moveDocument(0, isInside: true, 2)
    fleet.advance(3_000)
    #expect(editor.resumeBack(0, fleet.drawIdentifier()) == nil)
    fleet.advance(1_000)
    let activity = try #require(editor.activities.own.first?.activity)
    #expect(ScriptedApp.number(of: activity) == 1)
    #expect(activity.documentURL == "file:///docs/d2" && !activity.needsSave && fleet.violation == nil)
  }
}
