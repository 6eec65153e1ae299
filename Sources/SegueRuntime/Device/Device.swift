import SegueDriver
import SegueEngine
import SegueModel
import SegueTransport

/// This device as the apps of this process see it: its runtime folder, and the election of hubs. Everything except
/// `users` and `folder` is for the library thread.
final class Device {
  /// Apps of this process; guarded by the library's lock.
  var users = 0
  let loop: Loop
  private let directory: WatchedFolder
  let election: HubElection

  convenience init(_ folder: RuntimeFolder, on loop: Loop) throws(SegueError) {
    self.init(try WatchedFolder(folder, on: loop), on: loop)
  }

  private init(_ directory: WatchedFolder, on loop: Loop) {
    self.loop = loop
    self.directory = directory
    election = HubElection(in: directory)
  }

  /// From any thread.
  var folder: RuntimeFolder { directory.folder }

  /// From any thread.
  func driver(of engine: AppEngine) -> AppDriver { AppDriver(engine, in: directory) }

  /// From any thread: queues work for the library thread.
  func onLoop(_ job: @escaping (Device) -> Void) {
    loop.post { [self] in job(self) }
  }

  /// Called once, before the first app is added: without a timer nothing could be tried again.
  func start() throws(SegueError) { try directory.start(for: election) }

  func add(_ app: LiveEnvironment) { election.add(app, Clock.uptime) }

  func remove(_ app: LiveEnvironment) {
    election.remove(app)
    app.end()
    election.flushHub()
  }

  func end() {
    directory.close()
    election.end()
  }
}
