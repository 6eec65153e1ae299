// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The kinds of events in a fleet.
enum FleetEvent {
  /// The next segment has arrived at an end of a connection.
  case arrival(Connection, Int)
  /// There may be something to read at an end of a connection, or room to write.
  case readable(Connection, Int)
  case writable(Connection, Int)
  /// A duplicate segment, which the stream drops.
  case duplicate
  /// The end of a stream may be ready.
  case socket(FleetSocket)
  /// A hub learns that apps have connected.
  case accept(FleetHub)
  /// A process looks for its hub; nil the first time.
  case seek(FleetProcess, NextHubAttempt?)
  /// A timer of the election in a process is due.
  case election(FleetProcess, Int64)
  /// A process learns that the folder of its device has changed.
  case folderChanged(FleetProcess)
  /// An attempt to link two devices has completed.
  case join(DeviceLink)
  /// A callback of an app is due.
  case callbacks(FleetProcess)
  /// A deadline of an engine is due.
  case deadline(FleetProcess, Int64)
  case hubDeadline(FleetHub, Int64)
  /// An app has waited long enough for the other apps of a new hub.
  case settled(FleetProcess)
  /// A timer of a program is due.
  case wake(FleetProcess)
  /// Work of a process, or of no particular one.
  case task(FleetProcess?, () -> Void)
  /// Agents that have ended close what they have left.
  case closing
  /// A timer of an agent is due.
  case timer(FleetProcess, () -> Void)
  /// A stopped process continues.
  case resume(FleetProcess)
  /// A continuation or question should have ended.
  case overdue(FleetProcess, ObligationTracker.Key)
  /// The offers of one process, or of all, should be known everywhere.
  case audit(FleetProcess)
  case auditAll
  /// The apps of a device should be at a hub again that they lost then.
  case reunion(FleetDevice, Int64)

  /// Whether the event is in progress, not a timer.
  var isUnderWay: Bool {
    switch self {
    case .arrival, .readable, .writable, .socket, .accept, .seek, .election, .folderChanged, .join, .callbacks,
      .settled, .task, .closing:
      true
    case .duplicate, .deadline, .hubDeadline, .wake, .timer, .resume, .overdue, .audit, .auditAll, .reunion: false
    }
  }
}
