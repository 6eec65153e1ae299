// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport
import Testing

@testable import SegueAgent

/// A command that leads to a device, as a socket (R14.4): the test is the process that runs it.
@Suite struct CommandConnectionTests {
  /// The other process: its end of the reports, and both ends of the command's standard input and output. On the loop,
  /// which also calls the connection.
  private final class Helper {
    var report: Int32 = -1
    var data: [Int32] = [-1, -1]
    var events: [(isReadable: Bool, isWritable: Bool)] = []
    var end: ByteRead?

    func say(_ message: CommandReport, with descriptor: Int32 = -1) {
      let bytes = message.encoding
      #expect(bytes.withUnsafeBytes { linux_send(report, $0.baseAddress, $0.count, descriptor) } == bytes.count)
    }

    func close() { for end in [report] + data where end >= 0 { _ = CLinux.close(end) } }
  }

  @Test func `R14.4 one that has ended while it is not read, and has something to write, costs nothing`() throws {
    let loop = try Loop()
    let helper = Helper()
    #expect(linux_socket_pair(&helper.data) == 0)
    let connection = try CommandConnection(to: "desktop", on: loop) { end, _ in helper.report = dup(end) }
    /// Turns of the loop, each of which calls what is ready.
    func turns() { for _ in 0..<40 { loop.perform {} } }
    loop.perform {
      do throws(SegueError) {
        try connection.start { isReadable, isWritable in helper.events.append((isReadable, isWritable)) }
      } catch { Issue.record("\(error.message)") }
      connection.watch(reading: false, writing: false)
      helper.say(.started, with: helper.data[0])
    }
    turns()
    loop.perform {
      #expect(helper.events.isEmpty)
      connection.watch(reading: false, writing: true)
    }
    turns()
    loop.perform {
      #expect(helper.events.contains { $0.isWritable })
      // The other end of its input and output stays open: another process has it.
      helper.say(.ended("the command ended with status 255"))
    }
    turns()
    loop.perform { helper.events = [] }
    turns()
    loop.perform {
      #expect(helper.events.isEmpty)
      // Once it is read again, its end is found.
      connection.watch(reading: true, writing: true)
    }
    turns()
    loop.perform {
      #expect(helper.events.contains { $0.isReadable })
      helper.end = connection.read(atMost: 100) { _, _ in }
      #expect(helper.end == .closed)
      connection.close()
      helper.close()
    }
    loop.stop()
  }
}
