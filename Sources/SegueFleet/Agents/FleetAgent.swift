// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueWire
import SegueStore

/// The process of an agent in a fleet. All that decides in it is what ships: the hub that it carries, `InboxService`
/// with which it takes part there, `DeviceService` with its links, and `ControlRequests`. Its disk is that of its
/// device, and is used beside everything else, one request after the other.
public class FleetAgent: FleetProcess {
  /// The parts that refer to each other, until the end.
  private struct Parts {
    let inbox: InboxService
    let devices: DeviceService
    let sites: SiteService
    let requests: ControlRequests

    /// Closes them. A part that is open refers to itself.
    func close() {
      sites.close()
      inbox.close()
      devices.close()
    }
  }

  public let disk: FleetDisk
  private let identity: AppIdentity
  private var parts: Parts?
  /// The parts after the end, until they are closed.
  private var ended: Parts?
  private lazy var sockets = HostSockets(of: device.host, port: FleetHost.port, in: self)
  var ownParticipant: FleetParticipant<AgentEngine>?
  /// Its offers for apps that have gone (R2.5).
  var kept: [(offer: KeptParticipant, participant: FleetParticipant<AppEngine>)] = []
  private var hasTakenPlace = false
  private var deadline = QueuedDeadline()
  /// The jobs that the disk has not done yet.
  var jobs: [Job] = []
  private var isWorking = false
  var launching: [String] = []
  private var lastClient: UInt64 = 0
  var carried = CarriedSettings()

  /// The settings of the hub that it carries, for its next one, too.
  struct CarriedSettings {
    var accountHandler: ((_ device: Identifier, _ message: [UInt8]?) -> [UInt8]?)?
    var relayHandler: ((_ device: Identifier, _ frame: RelayFrame) -> Void)?
    var isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?
    var devices: AccountDevices?
    var retention: (any OfferRetention)?
  }

  enum Job {
    case request(InboxRequest, (InboxReply) -> Void)
    /// It returns what is done once the loop hears of it.
    case other(() -> () -> Void)
  }

  public init(on device: FleetDevice) {
    disk = device.disk
    identity = AppIdentity(
      secret: Identifier(high: 0xa9e7, low: UInt64(device.index)), bundleIdentifier: "org.segue.agent",
      name: "segue-agent", team: "", types: [], isChooser: true)
    super.init(String(joining: "\(device.name)/agent"), on: device, as: .agent)
  }

  override var asFleetAgent: FleetAgent? { self }
  /// Nil once it has ended, like the next one.
  public var inbox: InboxService? { parts?.inbox }
  public var devices: DeviceService? { parts?.devices }
  var requests: ControlRequests? { parts?.requests }

  // MARK: Control clients

  /// Answers a request as that of a control client; the answer may come later.
  /// - Parameter process: the number of the client's process.
  /// - Returns: the client, for `abandon`.
  public func handle(
    _ request: Value, ofProcess process: Int32, _ answer: @escaping ControlRequests.Answer
  ) -> ControlClient {
    lastClient += 1
    let client = ControlClient(number: lastClient, principal: .process(process))
    parts?.requests.handle(request, of: client, answer)
    return client
  }

  /// The client has gone.
  public func abandon(_ client: ControlClient) { parts?.requests.abandon(client) }

  // MARK: The network

  func listens(at port: UInt16) -> Bool { sockets.listens(at: port) }
  func accept(_ wire: Wire, at port: UInt16) { sockets.accept(wire, at: port) }
  func heard(_ beacon: [UInt8], from place: Place) { sockets.heard(beacon, from: place) }
  /// Devices reach each other again that were cut off.
  func networkHeals() { sockets.resumed() }

  // MARK: For checkers

  /// The activities that it offers for apps that have gone.
  public var keptOffers: [Identifier] { kept.map { $0.offer.activity } }
  override func offers(_ activity: Identifier) -> Bool { keptOffers.contains(activity) }

  /// The device's name in its account; nil: it is in none.
  var accountDevice: Identifier? { carried.devices?.own }
  /// Whether its account has another device.
  func knowsDevice(of other: FleetDevice) -> Bool {
    let device = other.fleetAgent?.accountDevice
    return device != nil && carried.devices?.all.contains { $0.device == device } ?? false
  }
  /// Whether its user keeps offers of a type, or of an app, off the devices of the account (R10.2).
  func isPrivate(_ type: String, of bundleIdentifier: String) -> Bool {
    carried.isPrivate?(type, bundleIdentifier) ?? false
  }
  /// Whether apps are being started.
  var isLaunching: Bool { !launching.isEmpty }
  var leak: StaticString? { ownParticipant?.engine.leak }

  /// Whether the agent knows of an open app.
  public func knows(_ bundle: String) -> Bool { parts.map { !$0.inbox.running(bundle).isEmpty } ?? false }

  // MARK: For subclasses

  /// The disk has done a request.
  func hasStored(_ request: InboxRequest, _ reply: InboxReply?) {}
  /// The user has removed an entry.
  func hasRemoved(_ continuation: Identifier) {}
  /// It offers what an app has left.
  func keeps(_ offer: KeptParticipant) {}

  /// Moves the attachments of its inbox.
  func makeMover() -> any AttachmentMover { AbsentMover(self) }

  /// Starts the program of an app: that of its device.
  /// - Parameter done: called once, later: nil if it was started.
  func start(_ app: String, _ done: @escaping (SegueError?) -> Void) { device.launch(app, done) }

  // MARK: FleetProcess

  override var participant: Identifier? { identity.id }

  override func beginAgent() {
    super.beginAgent()
    do throws(SegueError) { try open() } catch { fleet.report(name, "\(error.message)") }
  }

  private func open() throws(SegueError) {
    // Requests are answered once inbox and account have said what is stored.
    var missing = 2
    let hasOpened = { [self] in
      missing -= 1
      if missing == 0 { parts?.requests.open() }
    }
    let index = FleetSearchIndex(self)
    let inbox = InboxService(in: self, self, self, at: self) { index.change($0, of: $1, principal: $2, $3) }
    inbox.installed = device.installed
    let cryptography = device.cryptography
    let clock = device.clock
    let devices = try DeviceService(
      in: self, over: SimulatedTransport(sockets), SimulatedSecurity(cryptography) { clock.now.seconds }, self,
      SimulatedStorage(AccountService(storage: disk.account, cryptography: cryptography), on: self), inbox,
      resolving: self)
    let sites = SiteService(in: self, self, self) { inbox.sites = $0 }
    parts = Parts(
      inbox: inbox, devices: devices, sites: sites,
      requests: ControlRequests(in: self, inbox, self, index, devices, sites))
    try sites.open()
    sites.claim(device.installed.catalogue)
    try inbox.open(identity, Limits(), makeMover(), hasOpened)
    try devices.open(hasOpened)
  }

  /// The manifests of its device have changed, or its browsers, default programs and openers.
  func manifestsChanged() {
    parts?.inbox.installed = device.installed
    parts?.sites.claim(device.installed.catalogue)
  }

  override func seek(_ search: NextHubAttempt?) {
    super.seek(search)
    guard !hasTakenPlace, let ownParticipant else { return }
    hasTakenPlace = true
    election?.add(ownParticipant, fleet.clock.uptime)
  }

  override func becameHub(_ hub: FleetHub) {
    hub.engine.trustHandler = carried.accountHandler
    hub.engine.relayHandler = carried.relayHandler
    // The end of the hub breaks the cycles (`FleetHub.letGo`).
    hub.engine.unheardFailure = { [self] failure in parts?.requests.add(failure) }
    hub.engine.manifests = { [self] bundle in device.installed.catalogue[bundle]?.manifest }
    hub.engine.pageReasons = { [self] app, offer in parts?.inbox.pageReasons(of: app, offer) ?? [] }
    hub.engine.setPrivacy(carried.isPrivate, now)
    hub.engine.setRetention(carried.retention)
    hub.engine.setDevices(carried.devices, now)
  }

  override func receive() {
    ownParticipant?.receive()
    for each in kept { each.participant.receive() }
  }

  override func flush() {
    ownParticipant?.flush()
    for each in kept { each.participant.flush() }
  }

  override func isDue(_ at: Int64) -> Bool { deadline.isDue(at) }

  override func tick() {
    deadline.remove()
    ownParticipant?.tick()
    for each in kept { each.participant.tick() }
  }

  /// In order: what waits for the disk is done first.
  override public func leave() {
    guard isAlive else { return }
    resume()
    flush()
    parts?.close()
    for case .request(let request, _) in jobs { hasStored(request, disk.run(request)) }
    sockets.drop(isPowerLost: false)
    super.leave()
  }

  override func vanish() {
    sockets.drop(isPowerLost: true)
    super.vanish()
  }

  override func end() {
    sockets.drop(isPowerLost: false)
    ownParticipant?.abandon()
    ownParticipant = nil
    for each in kept { each.participant.abandon() }
    kept = []
    jobs = []
    disk.release()
    // Closing a part calls others, so nothing is closed while a call is under way.
    if let parts = parts.take() { ended = parts }
    fleet.closeLater(self)
    super.end()
  }

  /// Closes the parts that it left at its end. Jobs that follow from that are dropped.
  func closeEnded() {
    let ended = ended.take()
    ended?.close()
    jobs = []
  }

  override func tearDown() {
    parts?.close()
    sockets.drop(isPowerLost: true)
    ownParticipant = nil
    for each in kept { each.participant.tearDown() }
    kept = []
    jobs = []
    disk.release()
    // The hub closes its connections, which call their owner.
    super.tearDown()
    parts = nil
  }

  // MARK: Time

  /// Does something that is in progress until then, if it lives by then.
  public func later(_ milliseconds: Int64, _ body: @escaping () -> Void) {
    fleet.push(.task(self, body), at: fleet.clock.uptime + milliseconds)
  }

  override func woken() { if !directory.isInPlace { leave() } }

  // MARK: Participants

  /// The hub of a participant was left.
  func seek(_ search: NextHubAttempt, for participant: any HubSeeker) {
    later(fleet.random.within(0, 2)) { [self] in election?.follow(search, for: participant, fleet.clock.uptime) }
  }

  func connected(_ participant: any HubSeeker, _ connection: Connection) {
    if participant === ownParticipant { self.connection = connection }
  }

  func schedule(_ next: Int64?) {
    if let next = deadline.add(next) { fleet.push(.deadline(self, next), at: next) }
  }

  // MARK: The disk

  /// Does something on the thread of the disk, and what that returns in the loop.
  public func onDisk(_ body: @escaping () -> () -> Void) {
    jobs.append(.other(body))
    work()
  }

  func work() {
    guard !isWorking, !jobs.isEmpty else { return }
    isWorking = true
    later(fleet.random.within(0, disk.slowness)) { [self] in
      switch jobs.removeFirst() {
      case .request(let request, let done):
        let reply = disk.run(request)
        hasStored(request, reply)
        finish { [self] in
          if let reply { done(reply) }
          checkLaunch(request, reply)
        }
      case .other(let body): finish(body())
      }
    }
  }

  private func finish(_ answer: @escaping () -> Void) {
    later(fleet.random.within(0, disk.slowness)) { [self] in
      isWorking = false
      answer()
      work()
    }
  }

  private func checkLaunch(_ request: InboxRequest, _ reply: InboxReply?) {
    guard case .put(_, .success)? = reply, case .put(let record, _) = request else { return }
    // The program of a browser is started with the page, that of an opener with the file.
    guard device.installed.browsers[record.app] == nil, device.installed.openers[record.app] == nil else { return }
    // Otherwise it would wait for somebody to open the app.
    if !knows(record.app), !isLaunching(record.app) {
      fleet.report(name, "R3.8: an entry waits, and its app neither runs nor is launched")
    }
  }

  func isLaunching(_ app: String) -> Bool { launching.contains { Text.isSame($0, app) } }

  /// The launch of an app has ended, or takes too long.
  public func launchEnded(_ app: String) { launching.removeAll { Text.isSame($0, app) } }
}

extension FleetAgent: AgentEnvironment {
  public var slept: Int64 { 0 }
  public var deviceName: String { device.name }
  public func drawIdentifier() -> Identifier { fleet.drawIdentifier() }
  public func drawJitter() -> UInt32 { UInt32(truncatingIfNeeded: fleet.random.next()) }
  public func post(_ body: @escaping () -> Void) { later(0, body) }

  public func makeTimer(for owner: any AgentTimerOwner) -> any AgentTimer {
    SimulatedTimer(of: owner, in: self) { [self] time, body in
      fleet.push(.timer(self, body), at: fleet.clock.uptime + time)
    }
  }

  public func log(_ severity: Severity, _ message: DiagnosticText) {
    if severity.rawValue <= Severity.info.rawValue { fleet.trace(name, "says", text: message) }
  }
}

extension FleetAgent: SocketProcess {}

extension FleetAgent: AccountMachine {
  public var settings: DeviceSettings {
    get { disk.settings }
    set { disk.settings = newValue }
  }
  public func drawDiskTime() -> Int64 { fleet.random.within(0, disk.slowness) }
  public func drawAnswerTime() -> Int64 { fleet.random.within(0, 2) }
  public func hasUsedDisk() -> Bool { true }
}
