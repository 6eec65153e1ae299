import SegueModel
import Testing

@testable import SegueAgent

/// What crosses the socket between agent and launcher, and when a launch may begin (docs/agent.md, "Launching").
@Suite struct LaunchingTests {
  private let request = LaunchRequest(
    app: "com.example.a", arguments: ["editor", "--file", "ä \"x\""], folder: "/tmp",
    environment: [LaunchRequest.Variable(name: "LANG", value: "C")], isGraphical: true)

  private func decode(_ bytes: [UInt8]) -> (number: UInt64, request: LaunchRequest)? {
    bytes.withUnsafeBytes { LaunchRequest.decode($0) }
  }

  @Test func `a request arrives as it was sent`() throws {
    let (number, read) = try #require(decode(try request.encoded(as: 7)))
    #expect(number == 7 && read.app == request.app && read.arguments == request.arguments)
    #expect(read.folder == "/tmp" && read.isGraphical && read.environment.map { $0.name + $0.value } == ["LANGC"])
    let plain = LaunchRequest(app: "a", arguments: ["b"], isGraphical: false)
    #expect(try #require(decode(try plain.encoded(as: 1))).request.folder == nil)
  }

  @Test func `what is no request is none, wherever it is cut or changed`() throws {
    let bytes = try request.encoded(as: 7)
    for count in 0..<bytes.count { #expect(decode(Array(bytes[..<count])) == nil) }
    for index in bytes.indices {
      for bit in 0..<8 {
        var changed = bytes
        changed[index] ^= 1 << UInt8(bit)
        // It may be another request, and then it is checked as one.
        if let other = decode(changed)?.request { try? other.check() }
      }
    }
    #expect(decode([UInt8](repeating: 0x80, count: 70_000)) == nil)
    #expect(decode([0x86, 1, 0x61, 0x61, 0xf6, 0xf4, 0x80, 0x81, 0x61, 0x61]) == nil, "a variable without a value")
  }

  @Test func `a reply arrives as it was sent, and its text is cut`() throws {
    func sent(_ reply: LaunchReply) throws -> LaunchReply {
      try #require(try reply.encoded().withUnsafeBytes { LaunchReply.decode($0) })
    }
    let started = try sent(LaunchReply(number: 3, result: .success(4711)))
    let process = try started.result.get()
    #expect(started.number == 3 && process == 4711)
    let long = SegueError(.notFound, DiagnosticText(of: String(repeating: "ä", count: 5_000)))
    guard case .failure(let error) = try sent(LaunchReply(number: 4, result: .failure(long))).result else {
      return #expect(Bool(false), "an error has become a process")
    }
    #expect(error.status == .notFound && (900...Limits.title).contains(error.message.utf8.count))
  }

  @Test func `an app is launched once at a time, and a launch that never ends counts for 20 s`() throws {
    var gate = LaunchGate()
    try gate.begin("a", 0, until: 20_000)
    #expect(throws: SegueError.self) { try gate.begin("a", 19_999, until: 40_000) }
    try gate.begin("b", 0, until: 20_000)
    try gate.begin("a", 20_000, until: 40_000)
    gate.end("a")
    try gate.begin("a", 20_001, until: 40_000)
  }

  @Test func `an app is launched five times in a minute, and all apps thirty times`() throws {
    var gate = LaunchGate()
    var begun: [Int64] = []
    for now in stride(from: Int64(0), to: 200_000, by: 500) {
      guard (try? gate.begin("a", now, until: now + 100)) != nil else { continue }
      begun.append(now)
    }
    for start in begun { #expect(begun.count { $0 >= start && $0 < start + 60_000 } <= LaunchGate.appLimit) }
    #expect(begun.count >= 15)
    var others = LaunchGate()
    let count = (0..<100).count { (try? others.begin("app\($0)", 0, until: 100)) != nil }
    #expect(count == LaunchGate.totalLimit)
    try others.begin("late", 60_001, until: 70_000)
  }
}
