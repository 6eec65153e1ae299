// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel

extension FleetAgent: NameResolver {
  /// Milliseconds for a server of names to answer.
  private static let answerTime: Int64 = 20

  /// One that never answers is given up as the process is that looks names up.
  public func resolve(_ name: DeviceHostName, _ done: @escaping (NameLookup) -> Void) {
    device.internet.lookUps.append(name)
    fleet.trace(self.name, "looks up", name.text)
    let found = device.internet.resolver(name)
    later(found == nil ? NameLookup.time : Self.answerTime) { done(found ?? NameLookupOutput.decode([], of: name)) }
  }
}
