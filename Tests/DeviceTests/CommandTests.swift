// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// The commands that lead to devices: their file, and what they say (R14.4).
@Suite struct CommandTests {
  private let device = Identifier(high: 0x5d0c_22f1_0000_4000, low: 0x8000_0000_0000_0001)

  private func file(_ text: String) throws -> CommandFile {
    var text = text
    return try text.withUTF8 { bytes in
      let bytes = UnsafeRawBufferPointer(bytes)
      return try CommandFile(bytes)
    }
  }

  @Test func `R14.4 the file of paths has the arguments of a command by its device`() throws {
    let read = try file(#"{"5d0c22f1-0000-4000-8000-000000000001": ["ssh", "my home", "", "segue-agent", "--stdio"]}"#)
    #expect(read.list.map { $0.device } == [device])
    #expect(read[device] == ["ssh", "my home", "", "segue-agent", "--stdio"])
    #expect(read[Identifier(high: 0, low: 1)] == nil)
    #expect(try file("{}").list.isEmpty)
    #expect(Identifier(text: device.text) == device)
  }

  @Test(arguments: [
    "", "[]", "nothing", "{", #"{"laptop": ["ssh"]}"#, #"{"5d0c22f1-0000-4000-8000-000000000001": []}"#,
    #"{"5d0c22f1-0000-4000-8000-000000000001": "ssh home"}"#, #"{"5d0c22f1-0000-4000-8000-000000000001": [""]}"#,
    #"{"5d0c22f1-0000-4000-8000-000000000001": [1]}"#, #"{"5d0c22f1-0000-4000-8000-000000000001": ["a\u0000b"]}"#,
    #"{"5d0c22f1-0000-4000-8000-000000000001": ["a"], "5D0C22F1-0000-4000-8000-000000000001": ["b"]}"#,
    #"{"5d0c22f1-0000-4000-8000-000000000001": ["\#(String(repeating: "a", count: 4_097))"]}"#,
    #"{"5d0c22f1-0000-4000-8000-000000000001": [\#(Array(repeating: "\"a\"", count: 65).joined(separator: ","))]}"#,
    "{}" + String(repeating: " ", count: 64 * 1024 - 1),
  ]) func `R14.4 what is no file of paths is refused, all of it, and says so`(text: String) {
    let error = #expect(throws: SegueError.self) { try file(text) }
    #expect(error?.status == .malformed && (error?.message ?? "").hasPrefix("paths: "))
  }

  @Test func `R14.4 the list of devices crosses a pipe whole, or is an error`() throws {
    let commands = (0..<Limits.devices).map { DeviceCommand(Identifier(high: 7, low: UInt64($0)), version: .max) }
    let bytes = CommandList.encode(.success(commands))
    #expect(bytes.count == CommandList.sizeLimit)
    #expect(try CommandList.decode(bytes).get() == commands)
    #expect(try CommandList.decode(CommandList.encode(.success([]))).get().isEmpty)
    for count in 0..<bytes.count {
      if case .success = CommandList.decode(Array(bytes[..<count])) { Issue.record("\(count) bytes are a list") }
    }
    let error = SegueError(.malformed, "paths: \(String(repeating: "x", count: 3_000))\n")
    guard case .failure(let read) = CommandList.decode(CommandList.encode(.failure(error))) else {
      Issue.record("an error became a list")
      return
    }
    #expect(read.message.hasPrefix("paths: xxx") && !read.message.contains("\n"))
  }

  @Test func `R14.4 other words are another version of a command, and the same ones the same`() throws {
    let versions = try [#"["ssh", "home"]"#, #"["ssh", "home", ""]"#, #"["sshhome"]"#, #"["ssh", "work"]"#].map {
      try file(#"{"5d0c22f1-0000-4000-8000-000000000001": \#($0)}"#).list[0].version
    }
    #expect(Set(versions).count == 4)
    let again = try file(#"{"5d0c22f1-0000-4000-8000-000000000001":["ssh","home"]}"#).list
    #expect(again == [DeviceCommand(device, version: versions[0])])
  }

  @Test func `R14.4 reports of a command are read back, others are none`() {
    for bytes: [UInt8] in [[], [0], [4, 1], [UInt8](repeating: 2, count: CommandReport.sizeLimit + 1)] {
      if CommandReport.decode(bytes) != nil { Issue.record("\(bytes.count) bytes are a report") }
    }
    guard case .started? = CommandReport.decode(CommandReport.started.encoding),
      case .said([7, 0])? = CommandReport.decode(CommandReport.said([7, 0]).encoding),
      case .ended("a b")? = CommandReport.decode(CommandReport.ended("a\nb").encoding)
    else {
      Issue.record("a report was not read back")
      return
    }
  }

  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
  private var closed: SegueError { SegueError(.connectionUnavailable, "the other end closed it during the handshake") }

  @Test func `R14.4 lines of standard error are clean, bounded, and the last one is the reason`() {
    var talk = CommandTalk()
    #expect(talk.takeErrors(bytes("@@@\r\n\r\nWarn")) == ["@@@"])
    #expect(talk.takeErrors(bytes("ing \u{1B}[2Jred\nHost key")) == ["Warning  [2Jred"])
    #expect(talk.end("the command ended with status 255") == ["Host key"])
    #expect(
      talk.explanation(of: closed, hasKnocked: false).message == "Host key (the command ended with status 255)")
    var flood = CommandTalk()
    var lines: [String] = []
    for _ in 0..<200 { lines += flood.takeErrors(bytes(String(repeating: "x", count: 1_023) + "\n")) }
    #expect(lines.count == 16 && lines.allSatisfy { $0.utf8.count <= 512 })
  }

  @Test(arguments: ["Welcome!\n", "hi\n", "0123456789abcdef", String(repeating: "motd ", count: 50)])
  func `R14.4 what a shell writes before the agent does is the reason`(said: String) {
    var talk = CommandTalk()
    talk.takeOutput(bytes(said))
    _ = talk.end("the command ended with status 0")
    let message = talk.explanation(of: closed, hasKnocked: false).message
    #expect(message.contains("something writes '\(said.prefix(2))") && message.contains("a shell's profile"))
    #expect(talk.explanation(of: closed, hasKnocked: true).message != message)
  }

  @Test func `R14.4 a challenge is no text of a shell, and an error of the link stays what it is`() {
    var talk = CommandTalk()
    talk.takeOutput([0x41, 0x90, 0x01] + [UInt8](repeating: 0xE3, count: 13))
    #expect(talk.explanation(of: closed, hasKnocked: false).message == closed.message)
    let own = SegueError(.invalidState, "the connection leads back to this device")
    _ = talk.takeErrors(bytes("bye\n"))
    _ = talk.end("the command ended with status 0")
    #expect(talk.explanation(of: own, hasKnocked: true).status == .invalidState)
  }
}
