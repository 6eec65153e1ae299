import SegueEngine
import SegueModel

/// What runs in a process of a fleet: an app with its engine. The fleet calls it; it calls `FleetProcess.drain` and
/// `settle` after each call of its engine.
public protocol FleetProgram: AppEngineOwner {
  /// Calls the engine, unless it is gone, and does what follows.
  func tell(_ call: (AppEngine, Moment) -> Void)
  /// Tells the app what it is to be told.
  func runCallbacks()
  /// The process is gone, without a word: the engine with it.
  func died()
  /// This end of a stream that was asked for, and agreed to.
  func keep(_ socket: FleetSocket, of request: StreamRequest)
  /// Why it does not take a stream that it is asked for; nil: it does.
  func objection(to request: StreamRequest) -> SegueError?
  /// The time that was given to `FleetProcess.wake` is over.
  func woken()
  /// There may be something to do at a socket of the process.
  func attend(to socket: FleetSocket)
}

/// Most programs have no streams.
extension FleetProgram {
  public func keep(_ socket: FleetSocket, of request: StreamRequest) { socket.close() }
  public func objection(to request: StreamRequest) -> SegueError? { nil }
  public func woken() {}
  public func attend(to socket: FleetSocket) {}
}
