// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import Testing

@testable import SegueFleet

/// Many apps on one device: they come to a new hub at the same moment (R1.11, R2.8).
@Suite struct CrowdTests {
  private let fleet = Fleet(seed: 1)
  private let device: FleetDevice

  init() throws {
    device = try fleet.addDevice("phone")
    // As for an agent, or where the user has raised the limit.
    device.resources.manyDescriptors = 4_096
  }

  private func open(_ count: Int) throws -> [ScriptedApp] {
    let apps = try (0..<count).map { number in
      let identity = AppIdentity(
        secret: fleet.drawIdentifier(), bundleIdentifier: "com.example.app\(number)", name: "app\(number)",
        team: "TEAM", types: ["com.example.note"], isChooser: false)
      return try ScriptedApp(identity, on: device)
    }
    fleet.advance(10_000)
    #expect(apps.allSatisfy { $0.engine?.isReady ?? false })
    return apps
  }

  private func killHub() throws { try #require(device.hub).process.kill() }

  @Test(arguments: [1, 3, FleetFolder.usualBacklog])
  func `the slowest of 1,000 apps is at the next hub within 2 s, however short its backlog is (R2.8)`(
    _ backlog: Int
  ) throws {
    let apps = try open(1_000)
    device.resources.backlogLimit = backlog
    try killHub()
    fleet.advance(2_000)
    #expect(apps.count { $0.isAlive && !($0.engine?.isReady ?? false) } == 0)
    #expect(apps.count { $0.isAlive && $0.process.isAtHub } == 999)
    #expect(device.hubs.count == 1 && fleet.violation == nil)
  }

  @Test func `what is no longer offered is gone at the slowest of a crowd 1.5 s after it has come (R1.11)`() throws {
    let apps = try open(200)
    let origin = try #require(apps.first { $0.process.hub == nil })
    let id = fleet.drawIdentifier()
    origin.becomeCurrent(id, try ScriptedApp.activity("com.example.note", 1, size: 10))
    fleet.advance(1_000)
    let viewers = apps.filter { $0 !== origin && $0.process.hub == nil }
    #expect(viewers.allSatisfy { $0.engine?.offers[id] != nil })
    device.resources.backlogLimit = 1
    try killHub()
    origin.process.kill()
    fleet.advance(3_500)
    #expect(viewers.allSatisfy { $0.engine?.offers[id] == nil && $0.engine?.isReady ?? false })
    #expect(fleet.violation == nil)
    // Optimised, the app that carried the hub would be released before.
    withExtendedLifetime(apps) {}
  }

  @Test func `no crowd breaks a promise (R1.11, R2.8)`() throws {
    let seeds = ProcessInfo.processInfo.environment["SEGUE_CROWDS"].flatMap { UInt64($0) } ?? 4
    for seed in 0..<seeds {
      let fleet = Fleet(seed: seed)
      try CheckedWorkload.play(in: fleet, devices: 1, apps: 60 + Int(seed &* 113 % 341), events: 100)
      #expect(fleet.violation == nil)
    }
  }

  @Test(
    arguments: [
      (14_406_670_080_485_557_184, 120, 100), (13_321_347_216_145_122_638, 60, 300),
      (3_334_115_262_783_689_335, 90, 300), (18_139_458_873_236_998_608, 256, 1_500),
    ] as [(UInt64, Int, Int)])
  func `crowds that broke a promise once do not any more (R1.11, R2.8)`(seed: UInt64, apps: Int, events: Int) throws {
    let fleet = Fleet(seed: seed)
    try Workload.play(in: fleet, devices: 1, apps: apps, events: events)
    #expect(fleet.violation == nil)
  }
}
