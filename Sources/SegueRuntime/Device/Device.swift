import SegueModel
import SegueTransport

/// This device as the apps of this process see it: they look for its hub, or one of them becomes it
/// (docs/decisions/numbered-generations.md). All but `users` is for the library thread.
final class Device {
  /// Milliseconds to wait for another process that is about to run a generation.
  private static let openingTime: Int64 = 500
  /// Milliseconds from when the folder, or what is in it, is seen to be gone until it is made again: who deletes it is not
  /// to find something new in it.
  private static let removalTime: Int64 = 100
  /// Milliseconds after which a folder that cannot be made is tried again.
  private static let removalRetryTime: Int64 = 2_000
  /// Generations that an app tries at once before it waits.
  private static let stepLimit = 8

  /// Apps of this process; guarded by the library's lock.
  var users = 0

  private let lock = Lock()
  /// Guarded by `lock`; replaced if it was removed.
  private var currentFolder: RuntimeFolder
  private let loop: Loop
  private var watch: FolderWatcher
  private let timer: LoopTimer
  private var apps: [App] = []
  private var hub: HubHost?
  private var waiting: [Waiting] = []
  /// Uptime at which it looks whether the folder is there again.
  private var movesAt: Int64?

  /// An app that waits for a hub.
  private struct Waiting {
    let app: App
    /// A hub of this generation will do.
    let awaited: UInt64
    /// If none has come at this uptime, it looks for one of this generation at least.
    let at: Int64
    let next: UInt64
  }

  init(_ folder: RuntimeFolder, on loop: Loop) throws(SegueError) {
    currentFolder = folder
    self.loop = loop
    watch = FolderWatcher(folder)
    timer = try LoopTimer()
  }

  /// From any thread.
  var folder: RuntimeFolder { lock.withLock { currentFolder } }

  /// From any thread: something to do on the library thread.
  func onLoop(_ job: @escaping (Device) -> Void) {
    loop.post { [self] in job(self) }
  }

  func add(_ app: App) {
    apps.append(app)
    seek(app, minimum: 1)
  }

  func remove(_ app: App) {
    apps.removeAll { $0 === app }
    waiting.removeAll { $0.app === app }
    app.end()
    hub?.flush()
  }

  func end() {
    waiting = []
    timer.close()
    watch.close()
    hub?.close()
    hub = nil
  }

  /// Connects an app to the hub of the highest generation, which must be `minimum` at least; if there is none, this
  /// process becomes it.
  func seek(_ app: App, minimum: UInt64) {
    guard apps.contains(where: { $0 === app }) else { return }
    waiting.removeAll { $0.app === app }
    // It may have found one since it asked.
    if let generation = app.generation, generation >= minimum { return }
    do throws(SegueError) {
      try startWatch()
      try app.start(on: loop)
      if !folder.isInPlace { try moveFolder() }
      try connect(app, minimum)
    } catch {
      Log.write(.error, "\(error.message)")
      // Not before: a hub that comes and goes because each process fails in the same way would keep all of them busy.
      wait(app, awaited: .max, next: minimum, in: app.couldNotConnect(error))
    }
  }

  /// Called once, before the first app is added: without the timer nothing could be tried again.
  func start() throws(SegueError) {
    // `end` closes it before this object goes.
    try timer.start(on: loop) { [unowned(unsafe) self] in self.retry() }
  }

  /// What has been done already unless the system refused.
  private func startWatch() throws(SegueError) {
    // `end` closes it before this object goes.
    try watch.start(on: loop) { [unowned(unsafe) self] in self.folderChanged() }
  }

  private func connect(_ app: App, _ minimum: UInt64) throws(SegueError) {
    var minimum = minimum
    var isNewHub = false
    do throws(SegueError) {
      for _ in 0..<Self.stepLimit {
        let highest = folder.highestGeneration()
        if highest >= minimum {
          switch try folder.visit(highest) {
          case .connected(let socket): return try app.connected(socket, generation: highest)
          case .crowded: return app.turnedAway(by: highest)
          case .nobody: minimum = highest + 1
          }
        } else if minimum > RuntimeFolder.lastGeneration {
          try folder.removeLastGeneration()
          minimum = 1
        } else {
          guard try becomeHub(minimum) else {
            return wait(app, awaited: minimum, next: minimum + 1, in: Self.openingTime)
          }
          isNewHub = true
        }
      }
      throw SegueError(.system, "\(folder.path): no hub can be reached there, not even one of this process")
    } catch {
      // Others are better off without a hub that cannot even be reached from here.
      if isNewHub { closeHub() }
      throw error
    }
  }

  private func closeHub() {
    hub?.close()
    hub = nil
  }

  /// Waits for another hub than one that will not do, and asks that one again after so many milliseconds.
  func wait(_ app: App, instead generation: UInt64, in time: Int64) {
    wait(app, awaited: generation + 1, next: 1, in: time)
  }

  /// Looks for a hub of this generation at least after so many milliseconds, whatever comes before.
  func seek(_ app: App, minimum: UInt64, in time: Int64) {
    if time <= 0 { seek(app, minimum: minimum) } else { wait(app, awaited: .max, next: minimum, in: time) }
  }

  private func wait(_ app: App, awaited: UInt64, next: UInt64, in time: Int64) {
    guard apps.contains(where: { $0 === app }) else { return }
    waiting.removeAll { $0.app === app }
    waiting.append(Waiting(app: app, awaited: awaited, at: Clock.uptime + time, next: next))
    watch.lookSoon()
    setTimer()
  }

  private func setTimer() {
    let next = waiting.map { $0.at }.min()
    timer.set(movesAt.map { min($0, next ?? $0) } ?? next)
  }

  /// False: another process is about to.
  private func becomeHub(_ generation: UInt64) throws(SegueError) -> Bool {
    guard let host = try HubHost(generation, in: folder, on: loop, offersFrontmostOnly: offersFrontmostOnly) else {
      return false
    }
    hub?.stepDown()
    hub = host
    Log.write(.info, "this process is the hub of generation \(generation) in \(folder.path)")
    stepDownIfOutrun()
    return true
  }

  private var offersFrontmostOnly: Bool { apps.contains { $0.settings.offersFrontmostOnly } }

  private func folderChanged() {
    if isLost {
      movesAt = movesAt ?? Clock.uptime + Self.removalTime
      return setTimer()
    }
    stepDownIfOutrun()
    let highest = folder.highestGeneration()
    for app in apps {
      guard let generation = app.generation, generation < highest else { continue }
      app.disconnect()
      seek(app, minimum: highest)
    }
    let sought = waiting
    for one in sought where one.awaited <= highest { seek(one.app, minimum: one.awaited) }
  }

  private func stepDownIfOutrun() {
    guard let hub, folder.highestGeneration() > hub.generation else { return }
    Log.write(.info, "the hub of generation \(hub.generation) steps down")
    hub.stepDown()
    self.hub = nil
  }

  private func retry() {
    let now = Clock.uptime
    if let movesAt, movesAt <= now { move() }
    for one in waiting where one.at <= now { seek(one.app, minimum: one.next) }
    setTimer()
  }

  // MARK: The folder was removed, or what was in it

  /// Others cannot find the hub any more that an app of this process, or all, are at.
  private var isLost: Bool {
    guard folder.isInPlace, hub?.isNamed ?? true else { return true }
    let highest = folder.highestGeneration()
    return apps.contains { $0.generation.map { $0 > highest } ?? false }
  }

  /// Goes where the others are, or will come.
  private func move() {
    movesAt = nil
    guard isLost else { return folderChanged() }
    if !folder.isInPlace {
      do throws(SegueError) {
        try moveFolder()
      } catch {
        // The hub that there is goes on until there is a place for another.
        Log.write(.error, "\(error.message)")
        movesAt = Clock.uptime + Self.removalRetryTime
        return
      }
    } else {
      leaveHubs()
    }
    for app in apps { seek(app, minimum: 1) }
  }

  /// Makes the folder again, or finds the one that has been made by others.
  private func moveFolder() throws(SegueError) {
    let new = try RuntimeFolder(folder.path)
    Log.write(.info, "\(new.path) was removed, and is there again")
    lock.withLock { currentFolder = new }
    watch.close()
    watch = FolderWatcher(new)
    leaveHubs()
    for app in apps { waiting.removeAll { $0.app === app } }
    // Those that are not at a hub now look for one.
    for app in apps { waiting.append(Waiting(app: app, awaited: 1, at: Clock.uptime, next: 1)) }
    try startWatch()
    setTimer()
  }

  private func leaveHubs() {
    hub?.stepDown()
    hub = nil
    for app in apps where app.generation != nil { app.disconnect() }
  }
}
