// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import CLinux
import SegueModel
import SegueTransport

/// The launcher: a process of its own, started before the agent is confined, so that programs do not inherit its jail.
/// One thread, which waits for requests; it ends when the agent does.
enum LauncherProcess {
  /// Serves requests until the other end of the socket closes.
  static func run(_ socket: Int32) -> Never {
    // A signal for the terminal's processes, or for the agent's, is not for this one.
    setsid()
    let socket = linux_keep_only(socket)
    linux_reset_signals()
    linux_ignore_children()
    linux_ignore_pipe_signal()
    _ = linux_name_process("segue-launcher")
    var service = LauncherService()
    while true {
      var passed: Int32 = -1
      let bytes = [UInt8](unsafeUninitializedCapacity: LaunchRequest.sizeLimit) { buffer, count in
        var received = 0
        repeat {
          received = linux_receive_passed(socket, buffer.baseAddress, buffer.count, &passed)
        } while received < 0 && linux_errno() == EINTR
        // The agent has ended, or the socket has failed.
        if received <= 0 { _exit(0) }
        // A message that did not fit is lost; the agent sends none of that size.
        count = received > buffer.count ? 0 : received
      }
      defer { if passed >= 0 { _ = close(passed) } }
      guard let (number, request) = bytes.withUnsafeBytes({ LaunchRequest.decode($0) }) else { continue }
      answer(LaunchReply(number: number, result: perform(request, passed, by: &service)), to: socket)
    }
  }

  private static func perform(
    _ request: LaunchRequest, _ descriptor: Int32, by service: inout LauncherService
  ) -> Result<LaunchReply.Answer, SegueError> {
    do throws(SegueError) { return .success(try service.perform(request, with: descriptor)) } catch {
      return .failure(error)
    }
  }

  private static func answer(_ reply: LaunchReply, to socket: Int32) {
    guard let bytes = try? reply.encoded() else { return }
    while bytes.withUnsafeBytes({ linux_send_message(socket, $0.baseAddress, $0.count, 1) }) < 0,
      linux_errno() == EINTR
    {}
  }
}
