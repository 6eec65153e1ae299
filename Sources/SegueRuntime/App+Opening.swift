// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueModel
import SegueTransport

extension App {
  /// An app of this device.
  public convenience init(_ settings: AppSettings) {
    self.init(settings, in: LiveEnvironment(), hasSystemClock: true)
  }

  /// Adds a container, in place of the one with this identifier. Asks the system for the real path of the folder.
  /// Throws INVALID_ARGUMENT, LIMIT_EXCEEDED, SYSTEM.
  public func addContainer(_ identifier: String, folder: String) throws(SegueError) {
    let real = try ContainerFolder.realPath(of: Container.path(of: folder))
    try add(try Container(identifier: identifier, folder: folder, realFolder: real))
  }
}
