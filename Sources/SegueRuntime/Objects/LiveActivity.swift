import CLinux
import SegueModel
import SegueTransport

/// An activity that its app can offer, safe for all threads (R1.13).
public final class LiveActivity: Handled {
  public let id: Identifier
  /// Nil if it can be read, written and encoded, but not offered.
  public let app: App?
  public let continuedFrom: ContinuedFrom?

  private let lock = Lock()
  private var state: Activity
  private var isValid = true
  private var isCurrent = false
  private var lastChange: Int64
  private var delegate: ActivityDelegate?
  private var saving: Saving?

  /// A will_save that runs, or will be answered later.
  private struct Saving {
    let number: UInt64
    /// The thread of will_save; nil if it will be answered later, so that every thread counts (R1.7).
    var thread: pthread_t?
  }

  /// Throws INVALIDATED if the app is closed.
  public convenience init(_ state: Activity, app: App?, continuedFrom: ContinuedFrom? = nil) throws(SegueError) {
    let id = if let app { try app.newIdentifier() } else { try Randomness.identifier() }
    try self.init(id, state, app, continuedFrom)
  }

  private init(
    _ id: Identifier, _ state: Activity, _ app: App?, _ continuedFrom: ContinuedFrom?
  ) throws(SegueError) {
    self.id = id
    lastChange = app?.environment.now.uptime ?? Clock.uptime
    self.state = state
    self.app = app
    self.continuedFrom = continuedFrom
    super.init()
    try app?.register(self)
  }

  public override func lastHandleReleased() { invalidate() }

  // MARK: Properties

  /// By the clocks of its app's device.
  public var now: Moment { app?.environment.now ?? Clock.now }

  /// Those of its app (R5.3).
  public var containers: Containers { app?.currentContainers ?? .none }

  /// The problems of the activity (R1.14).
  public var problems: [Problem] {
    // The app's lock comes before that of the activity.
    let containers = self.containers
    return read { $0.problems(at: now.date, containers) }
  }

  public func read<Result>(_ body: (borrowing Activity) -> Result) -> Result {
    lock.withLock { body(state) }
  }

  /// By itself, because `read` copies the whole activity.
  public var needsSave: Bool { lock.withLock { state.needsSave } }

  /// Changes properties; after an error they are unchanged.
  public func update(_ change: (inout Activity) throws(SegueError) -> Void) throws(SegueError) {
    let mustTell = try lock.withLock { () throws(SegueError) in
      try state.update(whileSaving: isSaving, change)
      lastChange = now.uptime
      return isCurrent
    }
    if mustTell { app?.changed(self) }
  }

  /// Takes over a state that has come back (R3.10). The engine learns it by the answer.
  func replace(with state: Activity) {
    lock.withLock {
      self.state.replace(with: state)
      lastChange = now.uptime
    }
  }

  /// Sets only the mark: cheap, and only the first of many calls reaches the engine (R2.3).
  public func setNeedsSave(_ needsSave: Bool) {
    let mustTell = lock.withLock {
      let isNews = state.needsSave != needsSave && isCurrent
      // Inside `will_save` this concerns that save, not later ones.
      if !needsSave, isSaving { state.markNeedsSave(false) } else { state.declareNeedsSave(needsSave) }
      lastChange = now.uptime
      return isNews
    }
    if mustTell { app?.changed(self) }
  }

  /// Attaches it, in place of an attachment of that name (R7.6). Throws INVALID_ARGUMENT, LIMIT_EXCEEDED.
  public func attach(_ name: String, _ file: SourceFile) throws(SegueError) {
    try update { (state) throws(SegueError) in
      try state.attach(Attachment(name: name, size: file.size, source: file))
    }
  }

  /// Throws NOT_FOUND.
  func attachment(_ name: String) throws(SegueError) -> Attachment {
    try lock.withLock { () throws(SegueError) in try state.attachment(name) }
  }

  public func setDelegate(_ delegate: ActivityDelegate?) {
    delegate?.give()
    let former = lock.withLock {
      defer { self.delegate = delegate }
      return self.delegate
    }
    // The host's functions destroy its contexts, so this happens without the lock.
    withExtendedLifetime(former) {}
  }

  // MARK: Being current

  /// Throws INVALIDATED, or INVALID_STATE without an open app.
  public func becomeCurrent() throws(SegueError) {
    guard let app else {
      throw SegueError(.invalidState, "activity: was made without an app, so it cannot become current")
    }
    guard lock.withLock({ isValid }) else {
      throw SegueError(.invalidated, "activity: was invalidated, which is for ever")
    }
    try app.makeCurrent(self)
  }

  public func resignCurrent() throws(SegueError) {
    guard lock.withLock({ isValid }) else {
      throw SegueError(.invalidated, "activity: was invalidated, which is for ever")
    }
    app?.resignCurrent(self)
  }

  public func invalidate() {
    let wasValid = lock.withLock {
      defer { isValid = false }
      return isValid
    }
    if wasValid { app?.invalidate(self) }
  }

  public var isStillValid: Bool { lock.withLock { isValid } }
  public var isCurrentNow: Bool { lock.withLock { isCurrent } }

  /// Asks the origin for a stream (R7.1). Throws INVALID_STATE if the activity was not continued, does not support
  /// streams, or its app is not open; SYSTEM.
  public func askStream(_ ask: StreamRequestCallback, timeout: Int64?) throws(SegueError) {
    guard let app else { throw SegueError(.invalidState, "activity: was made without an app") }
    try app.askStream(ask, timeout: timeout)
  }

  // MARK: For its app

  /// Nil if it was invalidated.
  var validState: Activity? {
    // Not by a closure, whose result would be copied twice more.
    lock.lock()
    defer { lock.unlock() }
    return isValid ? state : nil
  }
  var changedAt: Int64 { lock.withLock { lastChange } }
  /// Its own delegate; nil if it has none, or its host has released it.
  var ownDelegate: ActivityDelegate? { lock.withLock { delegate }.flatMap { $0.isAttached ? $0 : nil } }

  func setCurrent(_ isCurrent: Bool) { lock.withLock { self.isCurrent = isCurrent } }

  /// Sets the mark without a call of the engine, on behalf of the engine.
  func setNeedsSaveQuietly(_ needsSave: Bool) {
    lock.withLock { state.markNeedsSave(needsSave) }
  }

  /// The app has closed.
  func leaveApp() {
    lock.withLock {
      isCurrent = false
      isValid = false
    }
  }

  /// will_save is about to run on this thread; an unanswered earlier one no longer counts.
  func beginSaving(_ number: UInt64) {
    lock.withLock { saving = Saving(number: number, thread: pthread_self()) }
  }

  /// will_save has returned, and will be answered later.
  func continueSaving(_ number: UInt64) {
    lock.withLock { if saving?.number == number { saving?.thread = nil } }
  }

  /// will_save has been answered.
  func endSaving(_ number: UInt64) {
    lock.withLock { if saving?.number == number { saving = nil } }
  }

  private var isSaving: Bool {
    guard let saving else { return false }
    return saving.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? true
  }
}
