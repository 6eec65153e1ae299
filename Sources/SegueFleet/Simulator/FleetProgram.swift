// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The program in a process of a fleet: an app with its engine. The fleet calls it, and it calls its engine by
/// `FleetProcess.perform`, or calls `drain` afterwards.
public protocol FleetProgram: AnyObject {
  /// The activities of the app; nil if it is gone.
  var activitySource: (any ActivitySource)? { get }
  /// Whether callbacks of the app are due, which the fleet is to run.
  var hasCallbacks: Bool { get }
  /// The engine was called, and its results were handled, but for what concerns the program.
  func engineCalled()
  /// Runs the callbacks of the app.
  func runCallbacks()
  /// The process is gone without notice, and the engine with it.
  func died()
  /// Takes this end of a stream that the origin has accepted.
  func keep(_ socket: FleetSocket, of request: StreamRequest)
  /// The cause for refusing a stream; nil if the app accepts it.
  func rejection(to request: StreamRequest) -> SegueError?
  /// The timer of `FleetProcess.wake` is due.
  func woken()
  /// A socket of the process may be ready.
  func attend(to socket: FleetSocket)
}

/// Most programs have no streams.
extension FleetProgram {
  public func engineCalled() {}
  public func keep(_ socket: FleetSocket, of request: StreamRequest) { socket.close() }
  public func rejection(to request: StreamRequest) -> SegueError? { nil }
  public func woken() {}
  public func attend(to socket: FleetSocket) {}
}
