import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// The device of an app, as the app sees it: a real one (`LiveEnvironment`), or one of a virtual fleet
/// (`FleetEnvironment`). Each call has the app's lock, except where stated.
protocol AppEnvironment: AnyObject {
  /// Guards the app and this object.
  var monitor: ConditionLock { get }
  /// The time by the clocks of the device. With or without the lock.
  var now: Instant { get }
  /// The path of the runtime folder; nil in a fleet, or if the app is not open.
  var runtimeFolder: String? { get }
  /// The last known cause for not being connected.
  var problem: SegueError? { get }

  /// Draws an identifier for an app, an activity or a continuation.
  func drawIdentifier() throws(SegueError) -> Identifier

  /// Connects the engine of an app to the device, and retains the app until `close`. May release the lock if it throws.
  func open(_ app: App, _ engine: AppEngine) throws(SegueError)
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

  /// Wraps a descriptor to send it with a message.
  func wrap(_ descriptor: OwnedDescriptor) -> PassedDescriptor
  /// Takes a socket of the host, over which the device is to be linked. Throws INVALID_STATE in a fleet.
  func takeLink(_ fd: Int32, isOfAnyUser: Bool) throws(SegueError) -> OwnedDescriptor
  /// Creates the two ends of a stream: the host's, and one for the other side. With or without the lock.
  func makeStream() throws(SegueError) -> (near: StreamSocket, far: Int32)
  /// Starts a download, whose end is a callback.
  func start(_ download: AttachmentDownload, of app: App) throws(SegueError)
}
