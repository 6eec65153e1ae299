// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueApp
import SegueEngine
import SegueModel
import SegueOpenSSL
import SegueRuntime
import SegueStore
import SegueSystem
import SegueTransport
import SegueWire

/// The life of an agent, from its folders to its last goodbye. Its main thread waits for signals; all else happens on
/// the loop.
final class AgentProcess {
  private let options: AgentOptions
  private let signals = EndingSignals()

  init(_ options: AgentOptions) { self.options = options }

  func run() -> Agent.Status {
    do throws(AgentLocks.Refusal) {
      try serve()
    } catch {
      switch error {
      case .occupied(let holder):
        Log.write(.error, holder)
        return .occupied
      case .failed(let error):
        Log.write(.error, "\(error.message)")
        return .failure
      }
    }
    return signals.failure == nil ? .success : .failure
  }

  private func serve() throws(AgentLocks.Refusal) {
    let (manager, launcher, folder) = try prepare()
    let seat = try AgentLocks.take(folder, replaces: options.replaces)
    defer { withExtendedLifetime(seat) {} }
    do throws(SegueError) {
      // Landlock's rules are for folders that there are, as all three are by now.
      let control = AgentSocket.folder(beside: folder.path)
      try confine([folder.path, seat.state.path, control], seat.state.linkedDeviceSettings)
      try carryHub(in: folder, seat.state, launcher, manager)
    } catch {
      throw .failed(error)
    }
  }

  /// Does what has to happen before any thread starts.
  private func prepare() throws(AgentLocks.Refusal) -> (ServiceManager, Launcher, RuntimeFolder) {
    do throws(SegueError) {
      let manager = try ServiceManager()
      let launcher = try Launcher.start()
      signals.block()
      // The programs that the launcher starts keep the usual limit.
      Descriptors.raiseLimit()
      return (manager, launcher, try RuntimeFolder(nil))
    } catch {
      throw .failed(error)
    }
  }

  private func confine(_ folders: [String], _ file: String?) throws(SegueError) {
    switch try Confinement.apply(writing: folders, file.map { [$0] } ?? []) {
    case .full: Log.debug("confined: executes nothing, writes only in its folders, and signals no other process")
    case .withoutScopes:
      Log.info("the kernel's Landlock is older than version 6: the agent could reach abstract sockets")
    case .callsOnly: Log.info("the kernel offers no Landlock: the agent could write outside of its folders")
    }
  }

  /// As whom the agent takes part at the hub.
  private func participant(_ state: StateFolder) throws(SegueError) -> AppIdentity {
    let secret: Identifier
    do throws(SegueError) {
      secret = try state.participantSecret(
        { () throws(SegueError) in try Randomness.identifier() }, { Log.error(DiagnosticText(of: $0)) })
    } catch {
      // Only receipts that are owed since before a restart are lost.
      Log.error("\(error.message)")
      secret = try Randomness.identifier()
    }
    return AppIdentity(
      secret: secret, bundleIdentifier: "org.segue.agent", name: "segue-agent", team: "", types: [], isChooser: true)
  }

  /// Returns when a signal has asked for the end.
  private func carryHub(
    in folder: RuntimeFolder, _ state: StateFolder, _ launcher: Launcher, _ manager: ServiceManager
  ) throws(SegueError) {
    let loop = try Loop()
    defer { loop.stop() }
    let identity = try participant(state)
    let thread = InboxThread(state)
    try thread.start()
    defer { thread.end() }
    let savedThread = SavedThread(state)
    try savedThread.start()
    defer { savedThread.end() }
    let accountThread = AccountThread(state)
    try accountThread.start()
    defer { accountThread.end() }
    let saved = SavedService(savedThread, on: loop)
    let environment = LoopEnvironment(loop)
    let disk = InboxDisk(thread, on: loop)
    let fetcher = SiteFetchClient(launcher, on: loop)
    let resolver = NameLookupClient(launcher, on: loop)
    let looks = SandboxClient(launcher, on: loop)
    let commands = CommandLauncher(launcher, in: AgentSocket.folder(beside: folder.path), on: loop)
    let device = try Device(
      folder, on: loop,
      agent: AgentDescription(version: AgentOptions.version, capabilities: 0, participant: identity.id),
      tookPlace: { generation in manager.ready(generation) },
      lostFolder: { [signals] in signals.end(because: "the runtime folder was removed") })
    let inbox = InboxService(
      in: environment, disk, launcher, at: HubParticipation(on: device),
      change: { change, app, principal, done in saved.change(change, of: app, principal: principal, done) })
    let sites = SiteService(in: environment, fetcher, SiteFile(accountThread, on: loop)) { inbox.sites = $0 }
    // No app is chosen before it is known what the user prefers.
    var knowsPreferences = false
    let use = { (manifests: ManifestService) in
      let catalogue = manifests.catalogue
      inbox.installed = InstalledApps(
        catalogue: catalogue, browsers: manifests.browsers, defaults: manifests.defaults, openers: manifests.openers)
      inbox.folders = UserFolders(manifests.folderText).containers
      sites.claim(catalogue)
      Log.debug("manifests: \(catalogue.apps.count) apps in \(catalogue.entries.count) files")
    }
    let manifests = ManifestService(on: loop) { manifests in
      device.setFolders(manifests.folderText)
      if knowsPreferences { use(manifests) }
    }
    // The device keeps what it is told until `endCarriedHub`. An app learns what its manifest says when it is welcomed,
    // and no later (R6.1).
    device.setManifests { bundleIdentifier in manifests.manifest(of: bundleIdentifier) }
    device.setSandboxLook { held, process, done in looks.look(held, process, done) }
    device.setPageReasons { app, offer in inbox.pageReasons(of: app, offer) }
    let devices = try DeviceService(
      in: environment, over: TCPTransport(on: loop, commands: commands), TLSSecurity(), device,
      AccountJobs(accountThread, on: loop), inbox, resolving: resolver)
    var activationSocket: ActivationSocket?
    var control: ControlSocket?
    var failure: SegueError?
    loop.perform { [signals] in
      do throws(SegueError) {
        try launcher.attach(to: loop) { signals.end(because: "the launcher has ended") }
        try fetcher.open()
        try resolver.open()
        try looks.open()
        try commands.open()
        try sites.open()
        if let fd = manager.activationSocket { activationSocket = try ActivationSocket(fd, on: loop) }
        let requests = ControlRequests(in: environment, inbox, disk, saved, devices, sites)
        device.setUnheardFailureHandler { failure in requests.add(failure) }
        control = try ControlSocket(
          in: AgentSocket.folder(beside: folder.path), on: loop, try ControlServer(requests, in: environment), looks)
        // Requests are answered once inbox and account have said what is stored.
        var missing = 2
        let hasOpened = {
          missing -= 1
          if missing == 0 { requests.open() }
        }
        manifests.open {
          do throws(SegueError) {
            try device.carryHub()
            try inbox.open(
              identity, ProcessLimits.current, InboxFiles(in: state.address, thread, on: loop)
            ) {
              knowsPreferences = true
              use(manifests)
              hasOpened()
            }
            try devices.open(hasOpened)
          } catch {
            signals.end(because: "\(error.message)")
          }
        }
      } catch {
        failure = error
      }
    }
    defer {
      loop.perform {
        control?.close()
        manifests.close()
        sites.close()
        fetcher.close()
        resolver.close()
        looks.close()
        inbox.close()
        devices.close()
        commands.close()
        device.endCarriedHub()
        activationSocket?.close()
        launcher.close()
      }
    }
    if let failure { throw failure }
    let cause = signals.wait()
    Log.info("ends: \(cause)")
    manager.stopping()
  }
}
