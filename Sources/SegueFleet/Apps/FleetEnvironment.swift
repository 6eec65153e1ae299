// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel
import SegueWire

/// The device of an app of a virtual fleet, whose clock and randomness it shares. The app's callbacks run when the
/// fleet advances. A subclass adds what a host has: descriptors, files, a log.
open class FleetEnvironment: AppEnvironment, FleetProgram {
  public final let monitor: any AppMonitor
  public final let device: FleetDevice
  /// Both are nil if it is not open.
  public private(set) final var app: App?
  public private(set) final var process: FleetProcess?

  /// - Parameter monitor: guards the whole fleet, and is held while the fleet advances.
  public init(on device: FleetDevice, _ monitor: any AppMonitor) {
    self.device = device
    self.monitor = monitor
  }

  public final var now: Instant { device.now }
  open var limits: Limits { Limits() }
  public final var runtimeFolder: String? { nil }
  public final var problem: SegueError? { process?.driver?.problem }
  open func drawIdentifier() throws(SegueError) -> Identifier { device.fleet.drawIdentifier() }
  open func realURL(of url: String) -> String? { nil }
  open func realFolder(_ path: [UInt8]) -> [UInt8]? { nil }
  public final func userFolders() -> UserFolders { .none }

  // MARK: Opening and closing

  open func open(_ app: App, _ engine: AppEngine) throws(SegueError) {
    let process = try device.start(
      Self.shortName(app.settings.bundleIdentifier), offersFrontmostOnly: app.settings.offersFrontmostOnly)
    self.process = process
    self.app = app
    app.observer = process
    process.begin(self, engine)
  }

  /// The part after the last dot of an identifier.
  private static func shortName(_ identifier: String) -> String {
    let bytes = Text.bytes(identifier)
    let start = bytes.lastIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? 0
    return start == bytes.count ? identifier : Text.decoded(Array(bytes[start...]))
  }

  open func askAgent(_ request: Value, timeout: Int64) throws(SegueError) -> Value { throw Self.noHost }
  public final func endAgentCalls() {}
  public final func endDelivery() {}
  public final func endUploads() {}

  public final func close() {
    monitor.lock()
    process?.checkObligations()
    process?.leave()
    leave()
    monitor.unlock()
  }

  private func leave() {
    process = nil
    app?.observer = nil
    app = nil
    left()
  }

  /// The app has closed, or its process is dead.
  open func left() {}

  /// The process receives each message when it arrives.
  public final func receive() {}

  public final func drain() {
    process?.drain()
    notifyHost()
  }

  public final func signalDue() {
    process?.schedule()
    notifyHost()
  }

  /// Callbacks may be due.
  open func notifyHost() {}

  // MARK: Dispatching

  open func dispatch(_ app: App, timeout: Int32) throws(SegueError) -> Int { throw Self.noHost }
  open func wake() {}
  open func giveDescriptor() throws(SegueError) -> Int32 { throw Self.noHost }

  private static var noHost: SegueError { SegueError(.invalidState, "app: the fleet runs its callbacks") }

  open func runCallbacks() {
    // Otherwise `App.close` runs them.
    if let app, app.isOpen, !app.dispatcher.isBusy { _ = runDue(of: app) }
  }

  /// Runs the due callbacks.
  /// - Returns: the number of callbacks of the host that ran.
  public final func runDue(of app: App) -> Int {
    app.dispatcher.enter()
    let count = app.runDue(all: false)
    app.dispatcher.leave()
    monitor.notifyAll()
    signalDue()
    guard app.dispatcher.shallClose else { return count }
    app.dispatcher.shallClose = false
    later { try? app.close() }
    return count
  }

  /// Does something once no lock is held.
  open func later(_ chore: @escaping () -> Void) { chore() }

  // MARK: The fleet's calls

  public final var activitySource: (any ActivitySource)? { app }
  open var hasCallbacks: Bool { app?.hasDueCallbacks ?? false }

  open func engineCalled() {
    guard let app else { return }
    app.engineCalled()
    notifyHost()
    let lines = app.logs
    guard !lines.isEmpty else { return }
    app.logs = []
    later { [self] in for line in lines { log(line.severity, line.message) } }
  }

  open func died() {
    guard let app else { return }
    leave()
    later(app.tearDown())
  }

  open func woken() {}
  open func rejection(to request: StreamRequest) -> SegueError? { nil }
  open func attend(to socket: FleetSocket) {}

  // MARK: Streams and attachments

  open func makeStream() throws(SegueError) -> (near: any LocalStreamEnd, far: PassedDescriptor) {
    throw Self.noHost
  }

  open func keep(_ socket: FleetSocket, of request: StreamRequest) { socket.close() }

  public final func takeLink(_ fd: Int32, isOfAnyUser: Bool) throws(SegueError) -> PassedDescriptor {
    throw SegueError(.invalidState, "app: the devices of a virtual fleet are linked by segue_fleet_device_set_linked")
  }

  public final func handOver(_ source: AttachmentSource) -> (descriptor: PassedDescriptor, changed: UInt64)? {
    (FleetDescriptor(), 0)
  }

  open func start(_ download: any AppDownload, of app: App) throws(SegueError) { throw Self.noHost }

  // MARK: The log

  open func logs(_ severity: Severity) -> Bool { false }
  open func log(_ severity: Severity, _ message: DiagnosticText) {}
}
