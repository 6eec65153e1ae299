// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The apps that may continue an activity (R6.2), and the obstacles of the others (R6.5).
@Suite struct ObstacleTests {
  private func app(
    _ number: UInt64, team: String = "TEAM", types: [String] = ["com.example.note"], chooser: Bool = false
  ) -> AppIdentity {
    AppIdentity(
      secret: Identifier(high: 0, low: number), bundleIdentifier: "b", name: "n", team: team, types: types,
      isChooser: chooser)
  }

  @Test func `an app of the team that declares the type may, no other, and never the origin (R2.6, R6.2)`() {
    let origin = app(1)
    func obstacle(
      _ receiver: AppIdentity, type: String = "com.example.note", isPublic: Bool = false
    ) -> Routing.Obstacle? {
      Routing.obstacle(for: receiver, origin: origin, type: type, isPublic: isPublic)
    }
    #expect(obstacle(app(2)) == nil)
    #expect(obstacle(app(2, types: ["a", "com.example.note"])) == nil)
    #expect(obstacle(app(1)) == .isOrigin)
    #expect(obstacle(app(1, chooser: true)) == .isOrigin)
    #expect(obstacle(app(2, team: "OTHER")) == .teamDiffers)
    #expect(obstacle(app(2, types: ["a"])) == .typeNotDeclared)
    #expect(obstacle(app(2), type: "com.example.notes") == .typeNotDeclared)
    #expect(obstacle(app(2, team: "OTHER", types: [], chooser: true)) == nil)
    #expect(Routing.obstacle(for: app(1), team: "TEAM", type: "com.example.note", isPublic: false) == nil)
  }

  @Test func `teams and types are compared as bytes (R1.2, R6.2)`() {
    let composed = app(2, team: "\u{e9}", types: ["\u{e9}"])
    let decomposed = "e\u{301}"
    func obstacle(_ team: String, _ type: String) -> Routing.Obstacle? {
      Routing.obstacle(for: composed, team: team, type: type, isPublic: false)
    }
    #expect(obstacle("\u{e9}", "\u{e9}") == nil)
    #expect(obstacle(decomposed, "\u{e9}") == .teamDiffers)
    #expect(obstacle("\u{e9}", decomposed) == .typeNotDeclared)
  }

  @Test func `a public activity is for every team, if the app declares its type, and never for the origin (R13.1)`() {
    let origin = app(1)
    func obstacle(_ receiver: AppIdentity, isPublic: Bool) -> Routing.Obstacle? {
      Routing.obstacle(for: receiver, origin: origin, type: "com.example.note", isPublic: isPublic)
    }
    #expect(obstacle(app(2, team: "OTHER"), isPublic: true) == nil)
    #expect(obstacle(app(2, team: "OTHER"), isPublic: false) == .teamDiffers)
    #expect(obstacle(app(2, team: "OTHER", types: ["a"]), isPublic: true) == .typeNotDeclared)
    #expect(obstacle(app(2), isPublic: true) == nil)
    #expect(obstacle(app(1), isPublic: true) == .isOrigin)
  }
}
