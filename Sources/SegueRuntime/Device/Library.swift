// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueModel
import SegueSystem
import SegueTransport
import Synchronization

/// The library thread of this process, and the devices whose apps it serves. It starts with the first app that opens,
/// and ends with the last one that closes. All of its state is guarded by its lock.
public final class Library: @unchecked Sendable {
  private static let shared = Library()

  private static let opened = Atomic<Bool>(false)
  /// An app has been opened in this process.
  public static var hasOpened: Bool { opened.load(ordering: .relaxed) }

  /// Takes the locks that belong to no object. Not this object's: a child that was forked after an app had opened never
  /// takes that.
  public static func lockForFork() {
    Log.lockForFork()
    CloseDeadlockGuard.shared.lockForFork()
    SHA256.lockForFork()
  }

  public static func unlockAfterFork() {
    SHA256.unlockAfterFork()
    CloseDeadlockGuard.shared.unlockAfterFork()
    Log.unlockAfterFork()
  }

  private let lock = Lock()
  private var loop: Loop?
  private var devices: [Device] = []

  /// Starts to look for a hub.
  /// - Parameter path: of the runtime folder; nil for that of the environment.
  static func open(_ app: LiveConnection, in path: String?) throws(SegueError) -> Device {
    // Before `shared` is made: a fork that finds that half done must not use it.
    opened.store(true, ordering: .sequentiallyConsistent)
    return try shared.open(app, in: path)
  }

  private func open(_ app: LiveConnection, in path: String?) throws(SegueError) -> Device {
    let device = try lock.withLock { () throws(SegueError) in
      let folder = try RuntimeFolder(path)
      let loop = if let loop = self.loop { loop } else { try Loop() }
      self.loop = loop
      do throws(SegueError) {
        let known = devices.first { $0.folder.isSame(as: folder) || Text.isSame($0.folder.path, folder.path) }
        let device = if let known { known } else { try addDevice(folder, loop) }
        device.users += 1
        loop.post { device.add(app) }
        return device
      } catch {
        endIfIdle()
        throw error
      }
    }
    device.folder.activateAgent()
    return device
  }

  /// When this returns, the library thread no longer uses the app.
  static func close(_ app: LiveConnection, of device: Device) { shared.close(app, of: device) }

  private func close(_ app: LiveConnection, of device: Device) {
    lock.withLock {
      device.users -= 1
      let isLast = device.users == 0
      loop?.perform {
        device.remove(app)
        if isLast { device.end() }
      }
      if isLast { devices.remove(device) }
      endIfIdle()
    }
  }

  private func addDevice(_ folder: RuntimeFolder, _ loop: Loop) throws(SegueError) -> Device {
    let device = try Device(folder, on: loop)
    let outcome = Outcome()
    loop.perform {
      do throws(SegueError) { try device.start() } catch { outcome.error = error }
    }
    if let error = outcome.error { throw error }
    devices.append(device)
    return device
  }

  private func endIfIdle() {
    guard devices.isEmpty else { return }
    loop?.stop()
    loop = nil
  }
}

/// The state of a job on the library thread.
private final class Outcome {
  var error: SegueError?
}
