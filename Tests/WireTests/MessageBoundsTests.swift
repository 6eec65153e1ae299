// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueWire

/// The bounds of messages from outside (A9, section 9): each bound itself is let in, one more is not.
@Suite struct MessageBoundsTests {
  private static let id = Value.uuid(Identifier(high: 1, low: 2))
  private static let name = Value.string("n")

  private func decoded(_ elements: [Value]) throws -> Message? { try decode(Value.array(elements).encoding) }

  private func isRefused(_ elements: [Value]) -> Bool {
    do {
      _ = try decoded(elements)
      return false
    } catch { return (error as? SegueError)?.status == .malformed }
  }

  private func text(_ count: Int) -> Value { .string(String(repeating: "x", count: count)) }

  private func hello(name: Value = Self.name, team: Value = Self.name, types: [Value] = []) throws -> [Value] {
    [.unsigned(1), .unsigned(1), .unsigned(1), Self.id, Self.name, name, team, try .array(types), .bool(false)]
  }

  private func put(
    type: Value = Self.name, title: Value = .null, version: Value = .unsigned(0), age: Value = .unsigned(0),
    remaining: Value = .null
  ) -> [Value] {
    [
      .unsigned(6), Self.id, type, title, version, .unsigned(0), age, remaining, .bool(false), .unsigned(1),
    ]
  }

  private func offer(origin: Value) -> [Value] {
    [.unsigned(8)] + put()[1...8] + [Self.id, Self.name, Self.name, Self.name, .unsigned(0), origin]
  }

  private func fetch(milliseconds: UInt64) -> [Value] {
    [.unsigned(11), Self.id, Self.id, Self.id, .unsigned(milliseconds), .null]
  }

  @Test func `names have 255 bytes (A9, section 9)`() throws {
    #expect(try decoded(hello(name: text(255), team: text(255))) != nil)
    #expect(try isRefused(hello(name: text(256))))
    #expect(try isRefused(hello(team: text(256))))
    #expect(try isRefused(hello(name: .integer(1))))
  }

  @Test func `an app declares 256 types, each of 255 bytes (A9)`() throws {
    let types = (0..<256).map { Value.string("\($0)") }
    guard case .hello(let app, _, _, _)? = try decoded(hello(types: types)) else { return #expect(Bool(false)) }
    #expect(app.types == (0..<256).map { "\($0)" })
    #expect(try isRefused(hello(types: types + [.string("one more")])))
    #expect(try decoded(hello(types: [text(255)])) != nil)
    #expect(try isRefused(hello(types: [text(256)])))
    #expect(try isRefused(hello(types: [.null])))
  }

  @Test func `titles have 1 KiB, types 255 bytes, versions 32 bits (A9, section 9)`() throws {
    guard case .publish(let offer, _, 1)? = try decoded(put(title: text(1_024), version: .unsigned(UInt64(UInt32.max))))
    else { return #expect(Bool(false)) }
    #expect(offer.title?.utf8.count == 1_024 && offer.payloadVersion == .max)
    #expect(isRefused(put(title: text(1_025))))
    #expect(isRefused(put(title: .unsigned(1))))
    #expect(try decoded(put(type: text(255))) != nil)
    #expect(isRefused(put(type: text(256))))
    #expect(isRefused(put(version: .unsigned(1 << 32))))
    #expect(isRefused(put(remaining: .string("soon"))))
  }

  @Test func `a span of time is a year at most, an expiration a century (A9)`() throws {
    let year: Int64 = 366 * 86_400_000
    for (said, meant) in [(UInt64(5), Int64(5)), (UInt64(year), year), (UInt64(year) + 1, year), (.max, year)] {
      guard case .fetch(_, let milliseconds, _, _, _, _)? = try decoded(fetch(milliseconds: said)) else {
        return #expect(Bool(false))
      }
      #expect(milliseconds == meant)
      guard case .publish(_, let timing, _)? = try decoded(put(age: .unsigned(said), remaining: .unsigned(said))) else {
        return #expect(Bool(false))
      }
      #expect(timing.age == meant)
      #expect(timing.remaining == (said == .max ? 100 * year : Int64(said)))
    }
    guard case .publish(_, let timing, _)? = try decoded(put()) else { return #expect(Bool(false)) }
    #expect(timing.remaining == nil)
  }

  @Test func `a route has 1 to 16 hubs (A9)`() throws {
    func route(_ hubs: Int) throws -> [Value] {
      [
        .unsigned(30), Self.id,
        try .array([.unsigned(5)] + (0..<hubs).map { .uuid(Identifier(high: 0, low: UInt64($0))) }),
      ]
    }
    guard case .route(_, let way?, false)? = try decoded(route(16)) else { return #expect(Bool(false)) }
    #expect(way.sequence == 5 && way.hubs == (0..<16).map { Identifier(high: 0, low: UInt64($0)) })
    #expect(try isRefused(route(17)))
    #expect(try isRefused(route(0)))
    #expect(isRefused([.unsigned(30), Self.id, .string("this way")]))
    guard case .route(_, nil, false)? = try decoded([.unsigned(30), Self.id, .null]) else {
      return #expect(Bool(false))
    }
  }

  @Test func `an offer may say where it comes from`() throws {
    let origin = try Value.array([Self.name, .unsigned(1), Self.id, .unsigned(2)])
    guard case .offer(_, _, let said?)? = try decoded(offer(origin: origin)) else { return #expect(Bool(false)) }
    #expect(said.team == "n" && said.activation == 1 && said.version.number == 2)
    #expect(try isRefused(offer(origin: .array([Self.name, .unsigned(1), Self.id]))))
    #expect(isRefused(offer(origin: .string("here"))))
    guard case .offer(_, _, nil)? = try decoded(offer(origin: .null)) else { return #expect(Bool(false)) }
  }

  @Test func `an outcome is one of four, and its error may be of the future`() throws {
    func outcome(_ number: UInt64, status: UInt64) -> [Value] {
      [.unsigned(14), Self.id, Self.id, Self.id, .unsigned(number), .unsigned(status), .string("why"), .null]
    }
    for (number, meant) in [(UInt64(1), Outcome.restored), (2, .declined), (3, .failed), (4, .unknown)] {
      guard case .outcome(_, meant, nil, nil)? = try decoded(outcome(number, status: 0)) else {
        return #expect(Bool(false))
      }
    }
    for number in [0, 5, UInt64(Int32.max) + 1, .max] { #expect(isRefused(outcome(number, status: 0))) }
    guard case .outcome(_, .failed, let error?, _)? = try decoded(outcome(3, status: 4_711)) else {
      return #expect(Bool(false))
    }
    #expect(error == SegueError(.handoffFailed, "why"))
    guard case .outcome(_, .failed, let known?, _)? = try decoded(outcome(3, status: 22)) else {
      return #expect(Bool(false))
    }
    #expect(known.status == .remoteApplicationTimedOut)
    var long = outcome(3, status: 20)
    long[6] = text(1_025)
    #expect(isRefused(long))
  }

  @Test(arguments: [UInt64(0), 20, 4_711])
  func `an error that there has to be is one, whatever its status (A9)`(status: UInt64) throws {
    let error = [Value.unsigned(status), .string("why")]
    let failed = SegueError(.handoffFailed, "why")
    guard case .goodbye(let goodbye)? = try decoded([.unsigned(3)] + error),
      case .refused(_, _, let refused)? = try decoded([.unsigned(13), Self.id, Self.id] + error),
      case .linkDown(_, let down)? = try decoded([.unsigned(23), .unsigned(1)] + error)
    else { return #expect(Bool(false)) }
    #expect(goodbye == failed && refused == failed && down == failed)
  }

  @Test func `channels have 32 bits`() throws {
    func state(_ channel: UInt64) -> [Value] {
      [.unsigned(12), Self.id, Self.id, .unsigned(channel), .unsigned(.max), .bool(true)]
    }
    guard case .state(_, _, .max, .max, true, "")? = try decoded(state(UInt64(UInt32.max))) else {
      return #expect(Bool(false))
    }
    #expect(isRefused(state(1 << 32)))
  }

  @Test func `a state says why it is stale, in at most 1,024 bytes`() throws {
    func state(_ why: Value) -> [Value] {
      [.unsigned(12), Self.id, Self.id, .unsigned(3), .unsigned(9), .bool(true), why]
    }
    guard case .state(_, _, 3, 9, true, "disk full")? = try decoded(state(.string("disk full"))),
      case .state(_, _, 3, 9, true, "")? = try decoded(state(.null)),
      case .state(_, _, 3, 9, true, let long)? = try decoded(state(text(1_024)))
    else { return #expect(Bool(false)) }
    #expect(long.utf8.count == 1_024)
    #expect(isRefused(state(text(1_025))) && isRefused(state(.unsigned(1))))
  }

  @Test func `explanations come in pairs, and those of the future are left out`() throws {
    func explanation(_ parts: [Value]) throws -> [Value] {
      [.unsigned(18), .unsigned(1), .unsigned(7), try .array(parts)]
    }
    let all = (0..<8).flatMap { [Value.string("app\($0)"), .unsigned($0)] }
    guard case .explanation(1, let list, 7)? = try decoded(explanation(all)) else { return #expect(Bool(false)) }
    let known: [Routing.Obstacle] = [
      .isOrigin, .teamDiffers, .typeNotDeclared, .notFrontmost, .isPrivate, .notLinked, .page,
    ]
    #expect(list.map { $0.obstacle } == known)
    #expect(list.map { $0.name } == (0..<7).map { "app\($0)" })
    #expect(try isRefused(explanation([.string("app")])))
    #expect(try isRefused(explanation([.unsigned(1), .unsigned(1)])))
    #expect(try isRefused(explanation([.string("app"), .string("why")])))
  }

  @Test func `an error says which element is wrong`() throws {
    #expect(throws: SegueError(.malformed, "message 4: element 1 is not an unsigned number")) {
      try decoded([.unsigned(4)])
    }
    #expect(throws: SegueError(.malformed, "message 7: element 1 is not an identifier")) {
      try decoded([.unsigned(7), .unsigned(1)])
    }
    // The first one of several wrong elements is named, by its number in its own array.
    #expect(throws: SegueError(.malformed, "message 24: element 2 is not an identifier")) {
      try decoded([.unsigned(24), Self.id, .null, .null, .null, .null, .string("x"), .string("y")])
    }
    let sessions = try Value.array([Self.id, .bool(true), Self.id, .unsigned(1), .null, .null])
    #expect(throws: SegueError(.malformed, "message 20: element 4 is not true or false")) {
      try decoded([.unsigned(20), Self.id, sessions, .null])
    }
    #expect(throws: SegueError(.malformed, "message 1: element 7 is not a list of types")) {
      try decoded(Array(hello()[0...6]) + [Self.name, .bool(true)])
    }
  }

  @Test func `a message has 64 KiB (A9)`() throws {
    func explanation(_ count: Int) -> Message {
      let names = (0..<count).map {
        Message.Explanation(name: "\($0)" + String(repeating: "x", count: 250), obstacle: .isOrigin)
      }
      return .explanation(request: 1, names, appCount: UInt64(count))
    }
    #expect(try explanation(200).encoded().count <= Frame.messageLimit)
    var writer = MessageWriter()
    #expect(throws: SegueError.self) { try writer.encoding(of: explanation(300)) }
    #expect(try writer.encoding(of: .ping(1)) == Message.ping(1).encoded())
  }
}
