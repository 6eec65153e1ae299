// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The containers of an app (R5.3), which can change at any time.
extension App {
  /// Adds a container, in place of the one with this identifier. Throws LIMIT_EXCEEDED.
  public func add(_ container: Container) throws(SegueError) {
    try changeContainers { (containers) throws(SegueError) in try containers.add(container) }
    try matchActivities()
  }

  /// Throws NOT_FOUND.
  public func removeContainer(_ identifier: String) throws(SegueError) {
    try changeContainers { (containers) throws(SegueError) in try containers.remove(identifier) }
    try matchActivities()
  }

  private func changeContainers(_ body: (inout Containers) throws(SegueError) -> Void) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    note(try containerTable.change(body))
  }

  /// Sets the folders of the user (R13.4). Called with the lock.
  func setFolders(_ folders: UserFolders) { note(containerTable.setUserFolders(folders)) }

  private func note(_ lines: [DiagnosticText]) { for line in lines { logs.append((.info, line)) } }

  /// The containers of the app and the folders of the user. Called with the lock.
  public var containers: Containers { containerTable.all }

  /// Looks again for the folders that were not there. Calls the system, so without the lock.
  /// - Returns: whether one is there by now.
  func findFolders() -> Bool {
    var hasFound = false
    for container in currentContainers.withoutFolder {
      guard let real = environment.realFolder(container.folder) else { continue }
      monitor.lock()
      if containerTable.found(container, at: real) { hasFound = true }
      monitor.unlock()
    }
    return hasFound
  }

  /// For calls without the lock.
  public var currentContainers: Containers {
    monitor.lock()
    defer { monitor.unlock() }
    return containers
  }
}
