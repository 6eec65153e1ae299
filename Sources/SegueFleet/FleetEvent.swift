import SegueDriver
import SegueModel

/// What can happen next in a fleet.
enum FleetEvent {
  /// The next segment has come to an end of a connection.
  case arrival(Connection, Int)
  /// There may be something to read at an end of a connection, or room to write.
  case readable(Connection, Int)
  case writable(Connection, Int)
  /// A segment that has come before: the stream drops it.
  case duplicate
  /// There may be something to do at the end of a stream.
  case socket(FleetSocket)
  /// A hub learns that apps have connected.
  case accept(FleetHub)
  /// A process looks for its hub; nil: for the first time.
  case seek(FleetProcess, HubSearch?)
  /// Time has come for the election in a process.
  case election(FleetProcess, Int64)
  /// A process learns that something has come to the folder of its device, or gone.
  case folderChanged(FleetProcess)
  /// An attempt to link two devices has come through.
  case join(DeviceLink)
  /// An app is to be told something.
  case callbacks(FleetProcess)
  /// Time has come for an engine.
  case deadline(FleetProcess, Int64)
  case hubDeadline(FleetHub, Int64)
  /// Time has come for a program.
  case wake(FleetProcess)
  /// A stopped process goes on.
  case resume(FleetProcess)
  /// A continuation or question should be over.
  case overdue(FleetProcess, Ledger.Key)
  /// What one process offers, or all do, should be seen everywhere.
  case audit(FleetProcess)
  case auditAll

  /// Whether it is something under way, not something that only waits for its time.
  var isUnderWay: Bool {
    switch self {
    case .arrival, .readable, .writable, .socket, .accept, .seek, .election, .folderChanged, .join, .callbacks: true
    case .duplicate, .deadline, .hubDeadline, .wake, .resume, .overdue, .audit, .auditAll: false
    }
  }

  /// Whether it is the fleet's own affair: no step of anybody.
  var isBookkeeping: Bool {
    switch self {
    case .overdue, .audit, .auditAll: true
    default: false
    }
  }
}
