// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueTransport

/// Looks names up by processes that the launcher starts, four at a time (R14.2). For the loop.
final class NameLookupClient: NameResolver {
  /// Milliseconds for the launcher to start a process, which is killed after 5 s.
  private static let time = NameLookup.time + 1_000

  private let helpers: HelperClient
  private let loop: Loop

  init(_ launcher: Launcher, on loop: Loop) {
    helpers = HelperClient(launcher, on: loop, time: Self.time, sizeLimit: NameLookupOutput.sizeLimit)
    self.loop = loop
  }

  /// Throws SYSTEM.
  func open() throws(SegueError) { try helpers.open() }
  func close() { helpers.close() }

  func resolve(_ name: DeviceHostName, _ done: @escaping (NameLookup) -> Void) {
    let fail = { (reason: StaticString) in done(.failed(String(joining: "\(name.text): \(reason)"))) }
    guard helpers.count < NameLookup.limit else { return loop.post { fail("other names are being looked up") } }
    helpers.run(LaunchRequest(.lookUp(name))) { end in
      switch end {
      case .output(let bytes): done(NameLookupOutput.decode(bytes, of: name))
      case .late: fail("nothing was found in time")
      case .tooLong: fail("the process that looks names up says too much")
      case .notStarted(let reason): done(.failed(reason))
      }
    }
  }
}
