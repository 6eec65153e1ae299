// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The containers of an app (R5.3): those that it has registered, and the user's folders (R13.4). Guarded by the app's
/// lock.
struct ContainerTable {
  private var own = Containers()
  private var userFolders = UserFolders.none
  private(set) var all = Containers()

  /// Changes the containers that the app has registered.
  /// - Returns: lines for the log.
  mutating func change(_ body: (inout Containers) throws(SegueError) -> Void) throws(SegueError) -> [DiagnosticText] {
    try body(&own)
    return join()
  }

  /// Sets the folders of the user.
  /// - Returns: lines for the log.
  mutating func setUserFolders(_ folders: UserFolders) -> [DiagnosticText] {
    userFolders = folders
    return join()
  }

  /// The containers of the app come first: a folder of the user counts unless one of them has its identifier or its
  /// path.
  private mutating func join() -> [DiagnosticText] {
    all = own
    var refused: [DiagnosticText] = []
    for folder in userFolders.list where all[folder.identifier] == nil {
      do throws(SegueError) {
        try all.add(folder)
      } catch {
        refused.append("the folder \"\(folder.identifier)\" of the user does not count here: \(error.message)")
      }
    }
    return refused
  }

  /// The folder of a container is there by now.
  /// - Returns: whether the container still waited for it.
  mutating func found(_ container: Container, at real: [UInt8]) -> Bool {
    _ = own.found(container, at: real)
    return all.found(container, at: real)
  }
}
