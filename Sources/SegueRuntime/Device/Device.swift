// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport
import SegueWire

/// This device as the apps of this process see it, or the agent: its runtime folder, and the election of hubs.
/// Everything except `users` and `folder` is for the library thread.
public final class Device {
  /// Apps of this process; guarded by the library's lock.
  var users = 0
  let loop: Loop
  private let directory: WatchedFolder
  let election: HubElection
  /// The hub of an agent; nil for an app.
  private let carried: CarriedHub?

  /// For an app.
  convenience init(_ folder: RuntimeFolder, on loop: Loop) throws(SegueError) {
    self.init(try WatchedFolder(folder, on: loop, agent: nil), on: loop, nil, isAgent: false)
  }

  /// For an agent.
  /// - Parameters:
  ///   - tookPlace: called on the library thread when this process has become the hub, with its generation.
  ///   - lostFolder: called there if the folder is removed: the agent may write in no other.
  public convenience init(
    _ folder: RuntimeFolder, on loop: Loop, agent: AgentDescription, tookPlace: @escaping (UInt64) -> Void,
    lostFolder: @escaping () -> Void
  ) throws(SegueError) {
    let carried = CarriedHub()
    let place = AgentHubPlace(
      description: agent,
      tookPlace: { generation, host in
        carried.adopt(host)
        tookPlace(generation)
      }, lostFolder: lostFolder)
    self.init(try WatchedFolder(folder, on: loop, agent: place), on: loop, carried, isAgent: true)
  }

  private init(_ directory: WatchedFolder, on loop: Loop, _ carried: CarriedHub?, isAgent: Bool) {
    self.loop = loop
    self.carried = carried
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

  /// Links the hub that this agent carries with that of another device.
  /// - Parameters:
  ///   - device: whose certificate was shown on the connection.
  ///   - make: makes the connection, which the hub then owns and closes, from its number and what to call when the
  ///     connection is readable (true) or writable (false). Not called if this throws.
  /// Throws INVALID_STATE if the agent carries no hub now.
  public func addLink(
    of device: Identifier,
    _ make: (_ number: UInt64, _ ready: @escaping (_ isReadable: Bool) -> Void)
      -> any ByteConnection
  ) throws(SegueError) {
    guard let host = carried?.host else { throw SegueError(.invalidState, "the agent carries no hub") }
    try host.addLink(of: device, make)
  }

  /// Sets the function that is called when a session with a linked device begins or resumes (nil), and for each message
  /// about the account that the device sends, with at most 64 KiB. Its result is sent to that device. It must not call
  /// this object.
  public func setAccountHandler(_ handler: ((_ device: Identifier, _ message: [UInt8]?) -> [UInt8]?)?) {
    carried?.settings.accountHandler = handler
    carried?.host?.setAccountHandler(handler)
  }

  /// Sets what is called with each failure of an app of this device of which no host was told (R3.13). It must not call
  /// this object.
  public func setUnheardFailureHandler(_ handler: @escaping (UnheardFailure) -> Void) {
    carried?.settings.unheardFailure = handler
    carried?.host?.setUnheardFailureHandler(handler)
  }

  /// Sets what says of an app what its manifest holds, nil if it has none (R6.1): counts for apps that register later.
  /// It must not call this object.
  public func setManifests(_ manifests: ((_ bundleIdentifier: String) -> AppManifest?)?) {
    carried?.settings.manifests = manifests
    carried?.host?.setManifests(manifests)
  }

  /// Sets the folders of the user (R13.4), of which apps learn.
  /// - Parameter text: as `UserFolders` reads it.
  public func setFolders(_ text: [UInt8]) {
    carried?.settings.folders = text
    carried?.host?.setFolders(text)
  }

  /// Sets what says of an offer of an app here what concerns its web page: see `HubEngine.pageReasons`. It must not
  /// call this object.
  public func setPageReasons(_ reasons: ((AppIdentity, OfferDescription) -> [Message.Explanation])?) {
    carried?.settings.pageReasons = reasons
    carried?.host?.setPageReasons(reasons)
  }

  /// Sets what looks into the sandboxes of processes for this one, which may not (R13.8).
  /// - Parameter look: takes over the descriptor of a process of that number, and calls `done` once, later.
  public func setSandboxLook(_ look: @escaping SandboxLook) {
    carried?.settings.sandboxLook = look
    carried?.host?.sandboxLook = look
  }

  /// Sets which offers of this device's apps are kept off all other devices (R10.2).
  /// - Parameter isPrivate: told the type of an activity and the bundle identifier of its app; nil: none.
  public func setPrivacy(_ isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?) {
    carried?.settings.isPrivate = isPrivate
    carried?.host?.setPrivacy(isPrivate)
  }

  /// Sets what knows the offers that devices have had retained (R14.5). It must not call this object.
  public func setRetention(_ retention: (any OfferRetention)?) {
    carried?.settings.retention = retention
    carried?.host?.setRetention(retention)
  }

  /// Sets the devices of the account, after which offers and receipts name them.
  /// - Parameter devices: nil without an account: a device is called what it says, and this one what its host is.
  public func setDevices(_ devices: AccountDevices?) {
    carried?.settings.devices = devices
    carried?.host?.setDevices(devices)
  }

  /// Sends a message about the account to a device, if it is linked.
  public func sendAccount(_ message: [UInt8], to device: Identifier) {
    carried?.host?.sendAccount(message, to: device)
  }

  /// Sets the function that is called for each frame of a relay that a linked device sends (R14.3). It must not call
  /// this object.
  public func setRelayHandler(_ handler: ((_ device: Identifier, _ frame: RelayFrame) -> Void)?) {
    carried?.settings.relayHandler = handler
    carried?.host?.setRelayHandler(handler)
  }

  /// Sends frames of relays to devices, those that are linked, in order.
  public func sendRelay(_ frames: [(frame: RelayFrame, device: Identifier)]) { carried?.host?.sendRelay(frames) }

  /// Bytes for a device that its connections have not taken yet.
  public func unsent(to device: Identifier) -> Int { carried?.host?.unsent(to: device) ?? 0 }

  /// Asks all linked devices for a sign of life: this one has another network or address, or has woken up.
  public func networkChanged() { carried?.host?.networkChanged() }

  /// The hub at the other end of a link, by the number of `addLink`; nil before it has said so, or without a hub here.
  /// Two processes of one device have different ones.
  public func hub(at number: UInt64) -> Identifier? { carried?.host?.hub(at: number) }

  /// Ends the links with a device for good, or with all (nil), and forgets what it offers.
  public func endLinks(of device: Identifier?, _ error: SegueError) { carried?.host?.endLinks(of: device, error) }

  func add(_ app: LiveConnection) { election.add(app, Clock.uptime) }

  /// Finds hubs for the agent's participant.
  func add(_ participant: any HubSeeker) { election.add(participant, Clock.uptime) }
  func remove(_ participant: any HubSeeker) { election.remove(participant) }

  func remove(_ app: LiveConnection) {
    election.remove(app)
    app.end()
    election.flushHub()
  }

  /// Ends the hub, with goodbye to its apps, and all that was started.
  func end() {
    directory.close()
    election.end()
  }

  /// Ends the hub that this agent carries, and drops all that was set here.
  public func endCarriedHub() {
    end()
    carried?.drop()
  }
}

/// See `Device.setSandboxLook`.
public typealias SandboxLook = (_ held: Int32, _ process: Int32, _ done: @escaping (PeerStanding) -> Void) -> Void
