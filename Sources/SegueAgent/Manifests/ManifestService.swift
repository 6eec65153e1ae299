// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueManifests
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport

/// Reads the manifests of the user, and again when their folders change. A thread of its own waits for the disk. All
/// else is for the loop.
final class ManifestService: WatchOwner, TimerOwner, @unchecked Sendable {
  /// Milliseconds from a change to the next reading: changes come in groups. Doubles while they go on.
  private static let firstDelay: Int64 = 100
  private static let longestDelay: Int64 = 10_000
  /// Milliseconds between two readings if the system does not say what changes.
  private static let interval: Int64 = 60_000
  /// Lines in the log for one reading.
  private static let lineLimit = 20

  private let loop: Loop
  private let folders = ManifestFolders.fromEnvironment()
  private let changed: (ManifestService) -> Void
  private var timer: LoopTimer?
  private var changes: FolderChanges?
  private var delay = ManifestService.firstDelay
  private var lastRead: Int64 = 0
  private var isReading = false
  private var isClosed = false
  /// The manifests that were read last.
  private(set) var catalogue = Catalogue()
  /// The browsers that were found then.
  private(set) var browsers = Browsers()
  /// The desktop's default programs then.
  private(set) var defaults = DefaultPrograms()
  /// The programs that open files (R13.7).
  private(set) var openers = Openers()
  /// The text of the user's folders for apps (R13.4), with their real paths.
  private(set) var folderText: [UInt8] = []
  /// Milliseconds that the first reading has before the agent goes on without it.
  private static let firstTime: Int64 = 2_000
  /// Called once the first reading has ended, or takes too long; nil afterwards.
  private var ready: (() -> Void)?

  /// - Parameter changed: called on the loop once all was read, each time, until `close`.
  init(on loop: Loop, _ changed: @escaping (ManifestService) -> Void) {
    self.loop = loop
    self.changed = changed
  }

  /// Reads for the first time; no effect after `close`.
  /// - Parameter ready: called on the loop once all is read, or 2 s later.
  func open(_ ready: @escaping () -> Void) {
    guard !isClosed else { return }
    self.ready = ready
    do throws(SegueError) {
      let timer = try LoopTimer()
      try timer.start(on: loop, for: self)
      timer.set(Clock.uptime + Self.firstTime)
      self.timer = timer
    } catch {
      // They are read once.
      Log.error("manifests: \(error.message)")
    }
    read()
  }

  /// A reading that is under way ends by itself, and its result is dropped.
  func close() {
    isClosed = true
    timer?.close()
    timer = nil
    changes?.close()
    changes = nil
  }

  /// The part of an app's manifest that holds while the app runs; nil: it has no manifest.
  func manifest(of bundleIdentifier: String) -> AppManifest? { catalogue[bundleIdentifier]?.manifest }

  // MARK: - Reading

  /// The first reading takes too long, or the next one is due.
  func timerIsDue(_ timer: LoopTimer) {
    guard let ready = ready.take() else { return read() }
    // A disk that does not answer delays no hub.
    Log.error("manifests: not read within 2 s: apps that open meanwhile learn nothing from them")
    ready()
  }

  private func read() {
    guard !isReading, !isClosed else { return }
    isReading = true
    changes?.close()
    changes = nil
    do throws(SegueError) {
      // The thread holds this object, and the loop, until it has posted.
      try Thread { [self, catalogue] in
        let changes = FolderChanges()
        let reader = ManifestReader(folders, visits: { changes?.add($0) }, awaits: { changes?.add($0, only: $1) })
        let new = reader.read()
        let (browsers, defaults, openers) = (reader.browsers, reader.defaults, reader.openers)
        Self.report(new, since: catalogue)
        if let problem = reader.userFoldersProblem { Log.error("\(problem.message)") }
        let folderText = UserFolders(reader.userFolders).text(ContainerFolder.found)
        loop.post { self.finish(new, browsers, defaults, openers, folderText, changes) }
      }.detach()
    } catch {
      Log.error("manifests: \(error.message)")
      isReading = false
      ready.take()?()
      timer?.set(Clock.uptime + Self.interval)
    }
  }

  private func finish(
    _ catalogue: Catalogue, _ browsers: Browsers, _ defaults: DefaultPrograms, _ openers: Openers,
    _ folderText: [UInt8], _ changes: FolderChanges?
  ) {
    guard !isClosed else { return }
    isReading = false
    lastRead = Clock.uptime
    // The first reading was in time.
    timer?.set(nil)
    self.catalogue = catalogue
    self.browsers = browsers
    self.defaults = defaults
    self.openers = openers
    self.folderText = folderText
    var isWatched = changes?.isComplete ?? false
    do throws(SegueError) {
      try changes?.start(on: loop, for: self)
    } catch {
      isWatched = false
    }
    self.changes = changes
    if !isWatched {
      Log.info("manifests: the system does not say what changes: they are read every \(Self.interval / 1_000) s")
      timer?.set(lastRead + Self.interval)
    }
    changed(self)
    ready.take()?()
  }

  /// Folders have changed, perhaps.
  func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) { if changes?.takeEvents() ?? false { readSoon() } }

  /// Something has changed.
  private func readSoon() {
    changes?.close()
    changes = nil
    let now = Clock.uptime
    delay = now - lastRead < 2 * delay ? min(2 * delay, Self.longestDelay) : Self.firstDelay
    timer?.set(now + delay)
  }

  // MARK: - The log

  /// Says what is wrong and was not before.
  private static func report(_ new: Catalogue, since former: Catalogue) {
    var known: Set<[UInt8]> = []
    forEachProblem(former) { _, text in known.insert(Array(text.utf8)) }
    var lines = 0
    forEachProblem(new) { severity, text in
      guard !known.contains(Array(text.utf8)) else { return }
      lines += 1
      if lines <= lineLimit { Log.write(severity, "manifest \(text)") }
      if lines == lineLimit + 1 { Log.error("manifests: something is wrong with further files") }
    }
  }

  private static func forEachProblem(_ catalogue: Catalogue, _ body: (Severity, String) -> Void) {
    for entry in catalogue.entries {
      switch entry.state {
      case .broken(let error): body(.error, error.message)
      case .declared(let app), .shadowed(let app, _):
        for warning in app.warnings { body(.info, String(joining: "\(entry.path): \(warning)")) }
      }
    }
  }
}
