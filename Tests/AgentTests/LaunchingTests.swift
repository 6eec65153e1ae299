// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import Testing

@testable import SegueAgent

/// The messages on the socket between agent and launcher, and the rate at which launches may begin (docs/agent.md,
/// "Launching").
@Suite struct LaunchingTests {
  private let request = LaunchRequest(
    .startApp("com.example.a"), environment: [LaunchVariable(name: "LANG", value: "C")])

  private func decode(_ bytes: [UInt8]) -> (number: UInt64, request: LaunchRequest)? {
    bytes.withUnsafeBytes { LaunchRequest.decode($0) }
  }

  @Test func `a request arrives as it was sent, and names an app, no program`() throws {
    let (number, read) = try #require(decode(try request.encoded(as: 7)))
    guard case .startApp("com.example.a") = read.kind else { return #expect(Bool(false), "another kind") }
    #expect(number == 7 && read.environment.map { $0.name + $0.value } == ["LANGC"])
    // The closed list: [number, 1, [bundle identifier], variables] and no place for arguments (A27).
    let plain = try LaunchRequest(.startApp("a")).encoded(as: 1)
    #expect(plain == [0x84, 1, 1, 0x81, 0x61, 0x61, 0x80])
    #expect(decode([0x84, 1, 1, 0x82, 0x61, 0x61, 0x61, 0x62, 0x80]) == nil, "an argument beside the app")
    #expect(decode([0x84, 1, 1, 0x80, 0x80]) == nil)
  }

  @Test func `a site is asked by its host and one of two paths, and no word besides (R12.9, A27)`() throws {
    for fetch in [
      SiteFetch(host: "example.com", path: .wellKnown, isForDevelopers: false),
      SiteFetch(host: "localhost", path: .root, isForDevelopers: true),
    ] {
      let (_, read) = try #require(decode(try LaunchRequest(.fetchSite(fetch)).encoded(as: 8)))
      guard case .fetchSite(let same) = read.kind else { return #expect(Bool(false), "another kind") }
      #expect(same.words == fetch.words)
    }
    for words in [
      [], ["example.com"], ["example.com", "other"], ["example.com", "root", "user"], ["-x", "root"], ["a b", "root"],
      ["example.com/x", "root"], ["127.0.0.1", "root"], ["example.com", "root", "developer", "developer"],
    ] { #expect(SiteFetch(words: words) == nil, "\(words)") }
    var service = LauncherService()
    let fetch = SiteFetch(host: "example.com", path: .root, isForDevelopers: false)
    #expect(throws: SegueError.self, "nothing takes its answer") {
      try service.perform(LaunchRequest(.fetchSite(fetch)))
    }
  }

  @Test func `R14.2 a name is looked up by itself, and no word besides (A27)`() throws {
    let name = try #require(DeviceHostName("laptop.example"))
    let (_, read) = try #require(decode(try LaunchRequest(.lookUp(name)).encoded(as: 8)))
    guard case .lookUp(let same) = read.kind else { return #expect(Bool(false), "another kind") }
    #expect(same == name)
    #expect(decode([0x84, 1, 5, 0x81, 0x62, 0x2D, 0x6E, 0x80]) == nil, "an option")
    #expect(decode([0x84, 1, 5, 0x82, 0x61, 0x61, 0x61, 0x62, 0x80]) == nil, "a word beside the name")
    var service = LauncherService()
    #expect(throws: SegueError.self, "nothing takes its addresses") {
      try service.perform(LaunchRequest(.lookUp(name)))
    }
  }

  @Test func `R14.4 the command of a device is run by the device alone, and no word besides (A27)`() throws {
    let device = Identifier(high: 1, low: 2)
    let (_, read) = try #require(decode(try LaunchRequest(.runCommand(device)).encoded(as: 8)))
    guard case .runCommand(let same) = read.kind else { return #expect(Bool(false), "another kind") }
    #expect(same == device)
    #expect(decode([0x84, 1, 7, 0x81, 0x63] + Array("ssh".utf8) + [0x80]) == nil, "no device")
    #expect(decode([0x84, 1, 7, 0x80, 0x80]) == nil && decode([0x84, 1, 6, 0x81, 0x61, 0x61, 0x80]) == nil)
    let (_, list) = try #require(decode(try LaunchRequest(.listCommands).encoded(as: 8)))
    guard case .listCommands = list.kind else { return #expect(Bool(false), "another kind") }
    var service = LauncherService()
    for kind: LaunchRequest.Kind in [.runCommand(device), .listCommands] {
      #expect(throws: SegueError.self, "nothing takes what it says") { try service.perform(LaunchRequest(kind)) }
    }
  }

  @Test func `a page is opened by name of a browser, and names no program (R12.3, A27)`() throws {
    let page = LaunchRequest(.openPage("https://example.com/a", browser: "firefox"))
    try page.check()
    let (number, read) = try #require(decode(try page.encoded(as: 8)))
    guard case .openPage("https://example.com/a", browser: "firefox") = read.kind else {
      return #expect(Bool(false), "another kind")
    }
    #expect(number == 8)
    let plain = try LaunchRequest(.openPage("http://a", browser: "b")).encoded(as: 1)
    #expect(plain == [0x84, 1, 2, 0x82, 0x68] + Array("http://a".utf8) + [0x61, 0x62, 0x80])
    #expect(decode([0x84, 1, 2, 0x81, 0x61, 0x61, 0x80]) == nil)
    #expect(decode([0x84, 1, 2, 0x83, 0x61, 0x61, 0x61, 0x62, 0x61, 0x63, 0x80]) == nil)
  }

  @Test(arguments: ["", "--flag", "javascript:alert(1)", "file:///etc/passwd", "https://user:pw@example.com/"])
  func `the launcher opens no other page (W10)`(page: String) {
    var service = LauncherService()
    #expect(throws: SegueError.self) { try service.perform(LaunchRequest(.openPage(page, browser: "firefox"))) }
  }

  @Test func `a browser that is not installed is none, whatever the agent says (A27)`() {
    var service = LauncherService()
    for browser in ["sh", "/bin/sh", "../sh", "org.example.none.of.this.name"] {
      let request = LaunchRequest(.openPage("https://example.com/", browser: browser))
      #expect(throws: SegueError(.notFound, "launch of \(browser): no such browser is installed")) {
        try service.perform(request)
      }
    }
  }

  @Test func `a file is opened by name of an opener, and names no program (R13.7, A27)`() throws {
    let type = "SegueActivityTypeEditingText"
    let document = try OpenedDocument(type: type, values: [(key: "url", text: "file:///a"), (key: "line", text: "7")])
    let request = LaunchRequest(.openDocument(document, opener: "kate"))
    try request.check()
    let (number, read) = try #require(decode(try request.encoded(as: 8)))
    guard case .openDocument(let other, opener: "kate") = read.kind else {
      return #expect(Bool(false), "another kind")
    }
    #expect(number == 8 && other.type == type && other.values.map { $0.key + $0.text } == ["urlfile:///a", "line7"])
    #expect(throws: SegueError.self) { try LaunchRequest(.openDocument(document, opener: "")).check() }
    var bytes = try request.encoded(as: 1)
    let place = try #require(bytes.firstIndex(of: UInt8(ascii: "7")))
    bytes[place] = UInt8(ascii: "-")
    #expect(decode(bytes) == nil, "a value that the table does not allow")
  }

  @Test func `an opener that is not installed is none, whatever the agent says (R13.7, A27)`() throws {
    var service = LauncherService()
    let document = try OpenedDocument(
      type: "SegueActivityTypeEditingText", values: [(key: "url", text: "file:///etc/hostname")])
    for opener in ["sh", "/bin/sh", "../sh", "org.example.none.of.this.name"] {
      let request = LaunchRequest(.openDocument(document, opener: opener))
      #expect(throws: SegueError(.notFound, "launch of \(opener): no such program is installed")) {
        try service.perform(request)
      }
    }
  }

  @Test func `a kind that is not known is refused by name, whatever its texts`() throws {
    let (number, read) = try #require(decode([0x84, 9, 0x18, 0x63, 0x82, 0x61, 0x61, 0x61, 0x62, 0x80]))
    guard case .unknown(99) = read.kind else { return #expect(Bool(false), "another kind") }
    #expect(number == 9)
    var service = LauncherService()
    let refusal = SegueError(.invalidArgument, "launch: the launcher knows no request of kind 99")
    #expect(throws: refusal) { try service.perform(read) }
  }

  @Test func `a request sets no variables but those of a display and a language`() throws {
    for (name, value) in [("LD_PRELOAD", "/x"), ("PATH", "/x"), ("LANG", "a\0b")] {
      let other = LaunchRequest(.startApp("a"), environment: [LaunchVariable(name: name, value: value)])
      #expect(throws: SegueError.self) { try other.check() }
    }
    #expect(throws: SegueError.self) { try LaunchRequest(.startApp("")).check() }
  }

  @Test func `the launcher keeps the rate itself`() throws {
    var service = LauncherService()
    func refusal() -> SegueError? {
      do throws(SegueError) {
        _ = try service.perform(LaunchRequest(.startApp("org.example.none.of.this.name")))
        return nil
      } catch {
        return error
      }
    }
    for _ in 0..<LaunchGate.appLimit { #expect(refusal()?.status == .notFound) }
    #expect(refusal()?.status == .limitExceeded)
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
    #expect(decode([0x84, 1, 1, 0x81, 0x61, 0x61, 0x81, 0x61, 0x61]) == nil, "a variable without a value")
  }

  @Test func `a look comes with a process, and starts nothing (R13.8)`() throws {
    let (number, read) = try #require(decode(try LaunchRequest(.lookAtProcess).encoded(as: 9)))
    guard case .lookAtProcess = read.kind, number == 9 else { return #expect(Bool(false), "another kind") }
    var service = LauncherService()
    #expect(throws: SegueError(.invalidArgument, "launch: look: no process came with it")) {
      _ = try service.perform(read)
    }
  }

  @Test func `a reply arrives as it was sent, and its text is cut`() throws {
    func sent(_ reply: LaunchReply) throws -> LaunchReply {
      try #require(try reply.encoded().withUnsafeBytes { LaunchReply.decode($0) })
    }
    let started = try sent(LaunchReply(number: 3, result: .success(.process(4711))))
    guard case .success(.process(4711)) = started.result, started.number == 3 else {
      return #expect(Bool(false), "a process has become something else")
    }
    for identifiers in [[], ["org.example.App"], ["my-editor", "my-editor_editor"]] {
      let looked = try sent(LaunchReply(number: 5, result: .success(.sandbox(Sandbox(identifiers: identifiers)))))
      guard case .success(.sandbox(let sandbox?)) = looked.result else {
        return #expect(Bool(false), "a sandbox has become something else (R13.8)")
      }
      #expect(looked.number == 5 && sandbox.identifiers == identifiers)
    }
    guard case .success(.sandbox(nil)) = try sent(LaunchReply(number: 6, result: .success(.sandbox(nil)))).result else {
      return #expect(Bool(false), "no sandbox has become one (R13.8)")
    }
    let long = SegueError(.notFound, DiagnosticText(of: String(repeating: "ä", count: 5_000)))
    guard case .failure(let error) = try sent(LaunchReply(number: 4, result: .failure(long))).result else {
      return #expect(Bool(false), "an error has become a process")
    }
    #expect(error.status == .notFound && (900...Limits.title).contains(error.message.utf8.count))
  }

  @Test(arguments: [
    ("org.example.my-editor.desktop", #"org.example.my\x2deditor"#), (".hidden.desktop", #"\x2ehidden"#),
    ("a b@é.desktop", #"a\x20b\x40\xc3\xa9"#), ("a:b_C.9", "a:b_C.9"), (".desktop", #"\x2edesktop"#),
  ])
  func `the unit of a program carries its desktop id, escaped as systemd does it`(_ id: String, _ part: String) {
    let scope = ProgramScope(desktopFile: id, random: [0, 1, 0x2f, 0xff, 9, 8, 7, 6])
    #expect(scope.name == "app-segue-\(part)-00012fff09080706.scope")
  }

  @Test(arguments: 200...260) func `a unit's name has 255 bytes at most, and no half of an escape`(_ count: Int) {
    let letters = ProgramScope(desktopFile: String(repeating: "a", count: count), random: Array(0..<8)).name
    #expect(letters.utf8.count == min(255, count + 33) && letters.hasSuffix("-0001020304050607.scope"))
    let hyphens = ProgramScope(desktopFile: String(repeating: "-", count: count), random: Array(0..<8)).name
    #expect(hyphens == "app-segue-" + String(repeating: #"\x2d"#, count: 55) + "-0001020304050607.scope")
  }

  @Test func `libsystemd is loaded only where the user has a bus: by its address, or in the runtime folder`() {
    #expect(ProgramScope.hasBus(address: "unix:path=/run/bus", runtimeFolder: nil))
    #expect(ProgramScope.hasBus(address: nil, runtimeFolder: "/sys"), "/sys/bus is there on each Linux")
    #expect(!ProgramScope.hasBus(address: nil, runtimeFolder: "/nonexistent"))
    #expect(!ProgramScope.hasBus(address: nil, runtimeFolder: nil))
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
