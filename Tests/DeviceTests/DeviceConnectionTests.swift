// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire
import Testing

@testable import SegueAgentCore

/// The output of a connection with another device (docs/device-links.md).
@Suite struct DeviceConnectionTests {
  /// A socket that takes all bytes, or none.
  private final class TestSocket: LinkSocket {
    var isRefusing = false
    private(set) var written: [UInt8] = []
    private(set) var writes = 0
    private(set) var wanted = (reading: false, writing: false)
    var arrived: [UInt8] = []
    private(set) var ready: ((_ isReadable: Bool, _ isWritable: Bool) -> Void)?

    var failure: SegueError? { nil }
    var unread: Int { arrived.count }
    func probe() {}
    func close() { ready = nil }
    func start(_ ready: @escaping (_ isReadable: Bool, _ isWritable: Bool) -> Void) { self.ready = ready }
    func watch(reading: Bool, writing: Bool) { wanted = (reading, writing) }

    func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
      let bytes = arrived
      arrived = []
      if !bytes.isEmpty { body(bytes, nil) }
      return .drained
    }

    func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
      writes += 1
      if isRefusing { return .refused }
      written += bytes
      return .bytes(bytes.count)
    }
  }

  /// Bytes pass as they are.
  private final class TestSession: SecureSession {
    private var output: [UInt8] = []
    /// The room of each array that came in exchange for output.
    private(set) var rooms: [Int] = []

    var peer: DeviceIdentity? { nil }
    var certificate: [UInt8]? { nil }
    func shown(at now: Instant) -> PeerCertificate? { nil }
    var isAuthenticated: Bool { true }
    var hasReceived: Bool { true }
    var isClosed: Bool { false }
    var isCalledRevoked: Bool { false }
    func exporter(_ label: StaticString) -> [UInt8] { [] }
    func receive(_ bytes: UnsafeRawBufferPointer, _ body: () throws(SegueError) -> Void) throws(SegueError) {
      try body()
    }
    func advance() {}
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { 0 }
    func takeRecordCount() -> Int { 0 }
    func close() {}
    var outputCount: Int { output.count }

    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
      output += bytes
      return bytes.count
    }

    func takeOutput(into former: inout [UInt8]) {
      rooms.append(former.capacity)
      former.removeAll(keepingCapacity: true)
      swap(&former, &output)
    }
  }

  private final class TestContext: SecurityContext {
    let session = TestSession()
    var identity: DeviceIdentity? { nil }
    func lists(_ device: Identifier) -> Bool { true }
    func isRevoked(_ device: Identifier, _ certificate: [UInt8]) -> Bool { false }
    func makeSession(_ role: SessionRole) -> any SecureSession { session }
    func joining(with invite: Invite) -> any SecurityContext { self }
  }

  private final class TestOwner: DeviceConnectionOwner {
    func failed(_ connection: DeviceConnection, _ error: SegueError) { Issue.record("\(error.message)") }
    func isUp(_ connection: DeviceConnection) {}
    func ended(_ connection: DeviceConnection) {}
  }

  private let socket = TestSocket()
  private let environment = TestEnvironment()
  private let owner = TestOwner()
  private let context = TestContext()

  /// One that another device has made.
  private func accepted() -> DeviceConnection {
    let device = Identifier(high: 0, low: 1)
    return DeviceConnection(
      socket, .relay(through: device, to: device), as: 1, isDialled: false,
      SecureChannel(answering: [keys(1)], nonce: nonce(), context), of: owner, in: environment)
  }

  @Test func `what the system has refused to write goes out after a pause, and nothing asks for it before`() throws {
    let connection = accepted()
    socket.isRefusing = true
    try connection.start()
    for time in 0..<50 as Range<Int64> {
      environment.advance(to: time)
      #expect(!socket.wanted.writing)
      // As a loop reports what is watched.
      if socket.wanted.writing { socket.ready?(false, true) }
      connection.watch(reading: true, writing: true)
      // As a hub does that has more to say.
      _ = connection.sendGathered()
    }
    #expect(socket.writes == 1)
    socket.isRefusing = false
    environment.advance(to: 50)
    #expect(socket.writes == 2 && socket.written.count == Knock.nonceSize && socket.wanted.writing)
    connection.close()
    environment.advance(to: 1_000)
    #expect(socket.writes == 2)
  }

  @Test func `a link that has sent much keeps the room for that while it goes on, and not when it is idle`() throws {
    let connection = accepted()
    try connection.start()
    let client = SecureChannel(knockingUnder: keys(1), nonce: nonce(), TestContext())
    #expect(feed(socket.written, to: client) { _ in } == nil)
    socket.arrived = output(of: client)
    socket.ready?(true, false)
    let (much, little) = ([UInt8](repeating: 7, count: 60_000), [UInt8](repeating: 7, count: 30))
    for _ in 0..<2 { _ = much.withUnsafeBytes { connection.write($0, nil) } }
    environment.advance(to: 9_999)
    _ = little.withUnsafeBytes { connection.write($0, nil) }
    #expect(context.session.rooms.suffix(2).contains { $0 >= much.count })
    environment.advance(to: 10_000)
    for _ in 0..<2 { _ = little.withUnsafeBytes { connection.write($0, nil) } }
    #expect(context.session.rooms.suffix(2).allSatisfy { $0 < much.count })
    connection.close()
  }
}
