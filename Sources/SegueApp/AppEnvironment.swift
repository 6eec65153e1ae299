// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem
import SegueWire

/// The device of an app, as the app sees it: a real one, or one of a virtual fleet. Each call has the app's lock,
/// except where stated.
public protocol AppEnvironment: AnyObject {
  /// Guards the app and this object.
  var monitor: any AppMonitor { get }
  /// The time by the clocks of the device. With or without the lock.
  var now: Instant { get }
  /// The limits of an app that opens now.
  var limits: Limits { get }
  /// The path of the runtime folder; nil in a fleet, or if the app is not open.
  var runtimeFolder: String? { get }
  /// The last known cause for not being connected.
  var problem: SegueError? { get }

  /// Draws an identifier for an app, an activity or a continuation.
  func drawIdentifier() throws(SegueError) -> Identifier
  /// The URL of a file's real path; nil if there is none. Without the lock.
  func realURL(of url: String) -> String?
  /// The path without symbolic links of the folder of a container; nil if there is none. Without the lock.
  func realFolder(_ path: [UInt8]) -> [UInt8]?
  /// The folders of the user, as long as no agent has told them (R13.4). Without the lock.
  func userFolders() -> UserFolders

  /// Connects the engine of an app to the device, and retains the app until `close`. May release the lock if it throws.
  func open(_ app: App, _ engine: AppEngine) throws(SegueError)
  /// Asks the agent of the user, and waits for the answer. Without the lock.
  /// - Parameters:
  ///   - request: a dictionary, with the name of the request under "ask" (docs/protocol.md).
  ///   - timeout: milliseconds for the answer, from when it is asked.
  /// Throws CONNECTION_UNAVAILABLE (no agent runs, or it ends), REMOTE_APPLICATION_TIMED_OUT, SYSTEM, BUSY (in a fleet:
  /// this is one of its callbacks, or another thread moves it), and what the agent answers.
  func askAgent(_ request: Value, timeout: Int64) throws(SegueError) -> Value
  /// Ends the calls that wait for the agent. With the lock.
  func endAgentCalls()
  /// Waits until no thread of this object runs callbacks. Without the lock.
  func endDelivery()
  /// Ends the uploads, which wait for other apps. Without the lock.
  func endUploads()
  /// Sends the last messages. When this returns, the device no longer uses the app. Without the lock.
  func close()

  /// Reads what the hub has sent: the thread that reads the socket may not have come to that yet.
  func receive()
  /// Handles the results of a call of the engine: sends its messages to its hub, and sets its next deadline.
  func drain()
  /// Notifies the host that a callback is due.
  func signalDue()

  /// As `App.dispatch`. Without the lock, and not inside a callback of the app.
  func dispatch(_ app: App, timeout: Int32) throws(SegueError) -> Int
  /// Makes `dispatch` return. With or without the lock, also in a signal handler.
  func wake()
  /// Passes the descriptor to the host that is readable while `dispatch` has something to do.
  func giveDescriptor() throws(SegueError) -> Int32

  /// Takes a socket of the host, over which the device is to be linked. Throws INVALID_STATE in a fleet.
  func takeLink(_ fd: Int32, isOfAnyUser: Bool) throws(SegueError) -> PassedDescriptor
  /// Creates the two ends of a stream: the host's, and one for the other side.
  func makeStream() throws(SegueError) -> (near: any LocalStreamEnd, far: PassedDescriptor)
  /// As `AppEngineOwner.handOver`.
  func handOver(_ source: AttachmentSource) -> (descriptor: PassedDescriptor, changed: UInt64)?
  /// Starts a download, whose end is a callback.
  func start(_ download: any AppDownload, of app: App) throws(SegueError)

  /// Whether log lines of this severity are wanted. With or without the lock.
  func logs(_ severity: Severity) -> Bool
  /// Writes a line to the log. Without the lock.
  func log(_ severity: Severity, _ message: DiagnosticText)
}

/// The lock of an app, with a condition; not recursive.
public protocol AppMonitor: AnyObject {
  func lock()
  func unlock()
  /// Releases the lock until a notification; check the condition again afterwards.
  func wait()
  func notifyAll()
}

extension ConditionLock: AppMonitor {}

/// The host's end of a stream: a socket, or the end of a simulated one.
public protocol LocalStreamEnd: AnyObject {
  /// Passes the descriptor to the host.
  func giveAway() -> Int32
  /// Closes what was not given away.
  func close()
  /// Whether the host still has it.
  var isOpen: Bool { get }
  /// Nil if the host has closed it.
  var otherEnd: StreamOtherEnd? { get }
  /// Shuts down writing, or both directions; no effect if the host has closed it.
  func shutDown(readingToo: Bool)
}

/// An attachment that an app fetches (R7.6), as the app sees it.
public protocol AppDownload: AnyObject {
  var activity: LiveActivity { get }
  /// The other side has accepted or refused the stream.
  func answered(_ error: SegueError?)
  /// Returns the callbacks to run without the lock. Called with the app's lock.
  func takeNews() -> (tell: () -> Void, isEnd: Bool)
  /// Ends it soon, with that error, unless it has ended. Without the lock.
  func stop(_ error: SegueError)
  /// Waits for its end, after `stop`. Without the lock.
  func join()
}
