import SegueDriver
import SegueEngine
import SegueModel
import SegueTransport

/// This device as the apps of this process see it, or the agent: its runtime folder, and the election of hubs.
/// Everything except `users` and `folder` is for the library thread.
public final class Device {
  /// Apps of this process; guarded by the library's lock.
  var users = 0
  let loop: Loop
  private let directory: WatchedFolder
  let election: HubElection

  /// For an app.
  convenience init(_ folder: RuntimeFolder, on loop: Loop) throws(SegueError) {
    self.init(try WatchedFolder(folder, on: loop, agent: nil), on: loop, isAgent: false)
  }

  /// For an agent.
  /// - Parameters:
  ///   - tookPlace: called on the library thread when this process has become the hub, with its generation.
  ///   - lostFolder: called there if the folder is removed: the agent may write in no other.
  public convenience init(
    _ folder: RuntimeFolder, on loop: Loop, agent: AgentDescription, tookPlace: @escaping (UInt64) -> Void,
    lostFolder: @escaping () -> Void
  ) throws(SegueError) {
    let place = AgentHubPlace(description: agent, tookPlace: tookPlace, lostFolder: lostFolder)
    self.init(try WatchedFolder(folder, on: loop, agent: place), on: loop, isAgent: true)
  }

  private init(_ directory: WatchedFolder, on loop: Loop, isAgent: Bool) {
    self.loop = loop
    self.directory = directory
    election = HubElection(in: directory, isAgent: isAgent)
  }

  /// From any thread.
  var folder: RuntimeFolder { directory.folder }

  /// From any thread.
  func driver<Engine: HubParticipant>(of engine: Engine) -> AppDriver<Engine> { AppDriver(engine, in: directory) }

  /// From any thread: queues work for the library thread.
  func onLoop(_ job: @escaping (Device) -> Void) {
    loop.post { [self] in job(self) }
  }

  /// Called once, before the first app is added: without a timer nothing could be tried again.
  func start() throws(SegueError) { try directory.start(for: election) }

  /// Makes the agent's process the hub of this device, and keeps it the hub until `end`. Throws SYSTEM if nothing could
  /// be tried again.
  public func carryHub() throws(SegueError) {
    try start()
    election.takePlace(Clock.uptime)
  }

  /// Whether this process carries the hub.
  public var isHub: Bool { election.isHub }

  func add(_ app: LiveEnvironment) { election.add(app, Clock.uptime) }

  /// Finds hubs for the agent's participant.
  func add(_ participant: any HubSeeker) { election.add(participant, Clock.uptime) }
  func remove(_ participant: any HubSeeker) { election.remove(participant) }

  func remove(_ app: LiveEnvironment) {
    election.remove(app)
    app.end()
    election.flushHub()
  }

  /// Ends the hub, with goodbye to its apps, and all that was started.
  public func end() {
    directory.close()
    election.end()
  }
}
