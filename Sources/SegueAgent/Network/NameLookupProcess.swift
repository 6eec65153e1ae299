// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueModel
import SegueSystem

/// The process that looks one name up, `segue-resolve` (R14.2): the system's resolver and its modules run here, and not
/// in the agent, beside its keys. It executes nothing, writes no file, reads none of the user, and is killed after 5 s.
/// Its output is `NameLookupOutput`.
enum NameLookupProcess {
  static let name = "segue-resolve"

  /// - Parameter arguments: the name of a host.
  static func run(_ arguments: [String]) -> Int32 {
    _ = linux_name_process(name)
    linux_ignore_pipe_signal()
    // SIGALRM ends the process.
    alarm(UInt32(NameLookup.time / 1_000))
    guard arguments.count == 1, let host = DeviceHostName(arguments[0]) else {
      StandardStream.error.write("\(name): expected the name of one host\n")
      return 2
    }
    HelperProcess.write(NameLookupOutput.encode(look(up: host)))
    return 0
  }

  private static func look(up host: DeviceHostName) -> NameLookup {
    do throws(SegueError) {
      _ = try Confinement.apply(writing: [], reading: HelperProcess.readable)
    } catch { return .failed(error.message) }
    var found = [linux_address](repeating: linux_address(), count: NameLookup.addressLimit)
    let count = found.withUnsafeMutableBufferPointer { linux_look_up(host.text, $0.baseAddress, Int32($0.count)) }
    guard count > 0 else { return .failed(String(joining: "\(host.text): the name is not found")) }
    return .addresses(found.prefix(Int(count)).map { NetworkAddress($0) })
  }
}
