// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The port at which this device listens for the others. For one thread.
final class DevicePort {
  /// 0: nowhere.
  private(set) var number: UInt16 = 0
  /// Why this device does not listen where the user wants it, or nowhere.
  private(set) var problem: SegueError?

  /// Listens where the user wants, else where it did before, else anywhere. Throws SYSTEM.
  func open(_ links: DeviceLinks, _ settings: DeviceSettings) throws(SegueError) {
    problem = nil
    let wanted = settings.port > 0 ? settings.port : settings.lastPort
    guard wanted > 0 else { return number = try links.open(port: 0) }
    do throws(SegueError) {
      number = try links.open(port: wanted)
    } catch {
      guard !links.isListening else { throw error }
      number = try links.open(port: 0)
      if settings.port > 0 { problem = stays(after: error) }
    }
  }

  /// Listens where the user wants it now. Linked devices stay linked.
  /// - Returns: whether it does.
  func move(_ links: DeviceLinks, _ settings: DeviceSettings) -> Bool {
    problem = nil
    guard settings.port > 0, settings.port != number else { return true }
    do throws(SegueError) {
      number = try links.move(to: settings.port)
      return true
    } catch {
      problem = stays(after: error)
      return false
    }
  }

  /// This device listens nowhere.
  func close() { number = 0 }
  func fail(_ error: SegueError) { problem = error }

  private func stays(after error: SegueError) -> SegueError {
    SegueError(
      error.status,
      "\(error.message); this device listens at port \(Int(number)) until the other one is free and set again")
  }
}
