// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The account and the settings of this device as its disk has them, on the thread of the account. For one thread.
public protocol DeviceStorage: AccountExecutor {
  /// Reads what there is at the start.
  /// - Parameter answer: called once, in a later turn.
  func load(_ answer: @escaping (AccountSnapshot, StoredSettings) -> Void)
  /// Changes the settings that are stored then: changes follow each other, and none is lost.
  /// - Parameter answer: gets them, in the order of the changes.
  func change(
    _ change: @escaping (inout DeviceSettings) throws(SegueError) -> Void,
    _ answer: @escaping (Result<DeviceSettings, SegueError>) -> Void)
  /// Keeps something that the agent has learned, for the next time. A file that cannot be read stays as it is.
  /// - Parameter answer: gets the settings with it.
  func keep(
    _ change: @escaping (inout DeviceSettings) -> Void,
    _ answer: @escaping (Result<DeviceSettings, SegueError>) -> Void)
}

/// The settings, and why the stored ones cannot be read.
public struct StoredSettings {
  public var settings: DeviceSettings
  public var problem: SegueError?
  /// Whether nothing of the file is known.
  public var isUnreadable: Bool

  public init(settings: DeviceSettings = DeviceSettings(), problem: SegueError? = nil, isUnreadable: Bool = false) {
    (self.settings, self.problem, self.isUnreadable) = (settings, problem, isUnreadable)
  }
}
