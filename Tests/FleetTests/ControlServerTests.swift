// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueAgentCore
@testable import SegueEngine
@testable import SegueFleet

/// The agent's second socket, by scripted connections (docs/protocol.md, "The second socket of the agent").
@Suite struct ControlServerTests {
  private let fleet = Fleet(seed: 1)
  private let agent: FleetAgent
  private let server: ControlServer

  init() throws {
    let device = try fleet.addDevice("desk")
    try device.startFleetAgent { FleetAgent(on: $0) }
    fleet.advance(1_100)
    agent = try #require(device.fleetAgent)
    server = try ControlServer(try #require(agent.requests), in: agent)
  }

  private func admit(ofProcess process: Int32 = 7) -> (number: UInt64, connection: ScriptedClient) {
    let (number, connection) = (server.takeNumber(), ScriptedClient())
    server.admit(connection, as: number, ofProcess: process)
    return (number, connection)
  }

  @Test func `a client whose connection is full is not read, and one that goes away then is gone at once`() throws {
    let (number, client) = admit()
    client.room = 0
    try client.say((1...10_000).map { .ping($0) })
    while client.isRead, !client.input.isEmpty { server.readable(number) }
    for _ in 0..<10 { fleet.advance(1) }
    #expect(!client.isRead && !client.isClosed, "its answers fill what may wait for it")
    client.isGone = true
    server.readable(number)
    #expect(client.isClosed)
    server.readable(number)
    server.writable(number)
    #expect(server.connectionCount == 0)
    server.close()
  }

  @Test func `a connection that its client has closed makes room, also right after a question`() throws {
    let four = (0..<4).map { _ in admit() }
    #expect(admit().connection.isClosed, "a fifth of the process")
    try four[1].connection.say([.ask(1, try Value.dictionary([(key: .string("ask"), value: .string("apps"))]).encoding)]
    )
    server.readable(four[1].number)
    #expect(!four[1].connection.output.isEmpty)
    four[1].connection.isGone = true
    let fifth = admit().connection
    #expect(!fifth.isClosed && four[1].connection.isClosed && server.connectionCount == 4)
    #expect(!admit(ofProcess: 8).connection.isClosed, "another process has its own share")
    server.close()
    #expect(four.allSatisfy { $0.connection.isClosed } && fifth.isClosed)
  }

  @Test func `a write that the system refuses is tried again after a pause`() throws {
    let (number, client) = admit()
    client.isRefusing = true
    try client.say([.ping(1)])
    server.readable(number)
    let attempts = client.writes
    server.writable(number)
    #expect(client.writes == attempts && !client.isWritten, "it is not writable before the pause is over")
    client.isRefusing = false
    fleet.advance(60)
    #expect(client.writes > attempts && !client.output.isEmpty)
    server.close()
  }

  @Test func `a client that says nothing, or does not read goodbye, is closed`() throws {
    let silent = admit().connection
    fleet.advance(5_100)
    #expect(silent.isClosed && !silent.output.isEmpty)
    let (number, deaf) = admit()
    deaf.room = 0
    try deaf.say([.refresh])
    server.readable(number)
    #expect(!deaf.isClosed)
    fleet.advance(5_100)
    #expect(deaf.isClosed && server.connectionCount == 0)
    server.close()
  }
}

/// A control client whose connection does what a test says.
private final class ScriptedClient: ByteConnection {
  private(set) var input: [UInt8] = []
  private(set) var output: [UInt8] = []
  /// Bytes that the connection takes.
  var room = Int.max
  var isGone = false
  var isRefusing = false
  private(set) var writes = 0
  private(set) var isRead = false
  private(set) var isWritten = false
  private(set) var isClosed = false

  private let link = FramedConnection(side: .connecting)
  private var writer = MessageWriter()

  func say(_ messages: [Message]) throws {
    for message in messages { try writer.send(message, over: link) }
    while link.takeOutput({ bytes in
      input += bytes
      return bytes.count
    }) {}
  }

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    if isGone { return .closed }
    guard !input.isEmpty else { return .drained }
    let bytes = Array(input.prefix(limit))
    input.removeFirst(bytes.count)
    body(bytes, nil)
    return bytes.count == limit ? .full : .drained
  }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    writes += 1
    if isRefusing { return .refused }
    let count = min(bytes.count, room)
    output += bytes.prefix(count)
    room -= count
    return .bytes(count)
  }

  func watch(reading: Bool, writing: Bool) { (isRead, isWritten) = (reading, writing) }
  func close() { isClosed = true }
  var isClosedByPeer: Bool { isGone }
}
