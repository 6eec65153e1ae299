import SegueModel
import SegueTransport

/// This device as the apps of this process see it: they look for its hub, or one of them becomes it
/// (docs/decisions/numbered-generations.md). All but `users` is for the library thread.
final class Device {
  /// Milliseconds to wait for another process that is about to run a generation.
  private static let openingTime: Int64 = 500
  /// Milliseconds after which what the system refused is tried again.
  private static let retryTime: Int64 = 1_000

  let folder: RuntimeFolder
  /// Apps of this process; guarded by the library's lock.
  var users = 0

  private let loop: Loop
  private let watch: FolderWatcher
  private var timer: LoopTimer?
  private var apps: [App] = []
  private var hub: HubHost?
  private var waiting: [Waiting] = []

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
    self.folder = folder
    self.loop = loop
    watch = try FolderWatcher(folder)
  }

  /// From any thread: something to do on the library thread.
  func onLoop(_ job: @escaping (Device) -> Void) {
    loop.post { [self] in job(self) }
  }

  func add(_ app: App) {
    if timer == nil {
      timer = LoopTimer(on: loop) { [unowned(unsafe) self] in
        // `end` closes the timer before this object goes.
        self.retry()
      }
    }
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
    timer?.close()
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
      // Both have been done already unless the system refused.
      try watch.start(on: loop) { [unowned(unsafe) self] in self.folderChanged() }
      try app.start(on: loop)
      var minimum = minimum
      while true {
        let highest = folder.highestGeneration()
        if highest >= minimum {
          switch try folder.visit(highest) {
          case .connected(let socket): return try app.connected(socket, generation: highest)
          case .crowded: return app.turnedAway(by: highest)
          case .nobody: minimum = highest + 1
          }
        } else {
          guard try becomeHub(minimum) else {
            return wait(app, awaited: minimum, next: minimum + 1, in: Self.openingTime)
          }
        }
      }
    } catch {
      Log.write(.error, "\(error.message)")
      wait(app, awaited: minimum, next: minimum, in: Self.retryTime)
    }
  }

  /// Waits for another hub than one that will not do, and asks that one again after so many milliseconds.
  func wait(_ app: App, instead generation: UInt64, in time: Int64) {
    wait(app, awaited: generation + 1, next: 1, in: time)
  }

  private func wait(_ app: App, awaited: UInt64, next: UInt64, in time: Int64) {
    guard apps.contains(where: { $0 === app }) else { return }
    waiting.removeAll { $0.app === app }
    waiting.append(Waiting(app: app, awaited: awaited, at: Clock.uptime + time, next: next))
    timer?.set(waiting.map { $0.at }.min())
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
    for one in waiting where one.at <= now { seek(one.app, minimum: one.next) }
    timer?.set(waiting.map { $0.at }.min())
  }
}
