// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueModel
import SegueRuntime
import SegueTransport

/// The process `segue-agent`, one per user: carries the hub of this device (docs/agent.md).
public enum Agent {
  /// The exit status of the process.
  public enum Status: Int32 {
    /// In order.
    case success = 0
    /// The system refuses what the agent needs, or took it away; standard error says what.
    case failure = 1
    /// The arguments are wrong.
    case usage = 2
    /// Another agent of this user runs; standard error says which process.
    case occupied = 3
  }

  /// Runs until a signal asks for the end.
  /// - Returns: the exit status (`Status`).
  public static func run() -> Int32 {
    // The launcher starts this program under another name.
    if Text.isSame(ProcessArguments.program, SiteFetchProcess.name) {
      return SiteFetchProcess.run(ProcessArguments.all)
    }
    if Text.isSame(ProcessArguments.program, NameLookupProcess.name) {
      return NameLookupProcess.run(ProcessArguments.all)
    }
    if Text.isSame(ProcessArguments.program, CommandProcess.name) {
      return CommandProcess.run(ProcessArguments.all)
    }
    switch AgentOptions.read(ProcessArguments.all) {
    case .help(let text):
      guard let error = StandardStream.output.write(text) else { return Status.success.rawValue }
      StandardStream.error.write("segue-agent: \(error.message)\n")
      return Status.failure.rawValue
    case .wrong(let problem):
      StandardStream.error.write("segue-agent: \(problem)\n\(AgentOptions.usage)")
      return Status.usage.rawValue
    case .standardLink: return StandardLink.run()
    case .run(let options):
      Log.readEnvironment(default: .info)
      Log.bound()
      Memory.canAllocate = { linux_can_allocate($0) == 1 }
      // Documents are up to 16 MiB, and few at a time: otherwise their memory would stay with an idle agent.
      linux_give_back_blocks(1 << 20)
      // The buffers of a frame and its records: otherwise the system would take and clear them for each one.
      linux_keep_blocks(1 << 18)
      return AgentProcess(options).run().rawValue
    }
  }
}
