// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueEngine
import SegueModel
import SegueSystem

/// An activity that its app can offer, safe for all threads (R1.13).
public final class LiveActivity: HandleObject {
  public let id: Identifier
  /// Nil if it can be read, written and encoded, but not offered.
  public let app: App?
  public let continuedFrom: ContinuedFrom?

  private let lock = Lock()
  private var state: Activity
  private var isValid = true
  private var isCurrent = false
  private var lastChange: Int64
  /// The number of changes so far, modulo 2^64.
  private var changeCount: UInt64 = 0
  private var delegate: ActivityDelegate?
  private var saving: Saving?
  /// The engine has marked it after a save that failed, and has scheduled no other.
  private var isUnscheduled = false

  /// A save whose callbacks run, or will be answered later.
  private struct Saving {
    let number: UInt64
    /// The thread of the callbacks; nil if one will be answered later, so that every thread counts (R1.7).
    var thread: pthread_t?
    /// The `user_info` that only the save sees, until it ends (R4.2); nil: it writes into that of all.
    var draft: UserInfoDraft?
    /// The activity was replaced meanwhile, so the draft is of a former state.
    var isObsolete = false
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
    lastChange = app?.uptime ?? Clock.uptime
    self.state = state
    self.app = app
    self.continuedFrom = continuedFrom
    super.init()
    try app?.register(self)
    if state.isPrivate { app?.changed(self) }
  }

  /// A managed activity lives as long as responders have it (R4.4).
  public override func lastHandleReleased() {
    if app?.manages(self) == true { return }
    // Asks for no save: who would answer may be gone.
    if lock.withLock({ isValid && isCurrent && state.keepsOffering }) { app?.leave(self) }
    invalidate(isReleased: true)
  }

  // MARK: Properties

  /// By the clocks of its app's device.
  public var now: Instant { app?.environment.now ?? Clock.now }

  /// Milliseconds by the same clock.
  @inline(__always)
  private var uptime: Int64 { app?.uptime ?? Clock.uptime }

  /// Those of its app (R5.3).
  public var containers: Containers { app?.currentContainers ?? .none }

  /// The problems of the activity (R1.14).
  public var problems: [Problem] {
    // The app's lock comes before that of the activity.
    let containers = self.containers
    // Without the lock: it takes time for a large `user_info`.
    let state = read { copy $0 }
    return state.problems(at: now.date, containers, userInfoLimit: ProcessLimits.userInfoLimit)
  }

  /// A save sees what it has filled in so far, everybody else the former `user_info` (R4.2).
  public func read<Result>(_ body: (borrowing Activity) -> Result) -> Result {
    lock.withLock {
      guard isSaving, saving?.draft != nil else { return body(state) }
      var former = takeDraft()
      defer { putDraft(&former) }
      return body(state)
    }
  }

  /// Puts the draft in the place of `user_info`. Called with the lock.
  /// - Returns: the `user_info` of all.
  private func takeDraft() -> Value? {
    // No draft is larger than a value may be, so merging it cannot fail.
    var userInfo = (try? saving?.draft?.userInfo()) ?? nil
    state.exchangeUserInfo(&userInfo)
    return userInfo
  }

  private func putDraft(_ former: inout Value?) {
    state.exchangeUserInfo(&former)
    saving?.draft?.set(former)
  }

  public var type: String { lock.withLock { state.type } }

  /// By itself, because `read` copies the whole activity.
  public var needsSave: Bool { lock.withLock { state.needsSave } }

  /// Changes properties; after an error they are unchanged.
  public func update(_ change: (inout Activity) throws(SegueError) -> Void) throws(SegueError) {
    let mustTell = try lock.withLock { () throws(SegueError) in
      let wasPrivate = state.isPrivate
      try changeState(change)
      noteChange()
      // The name of a private one, if it is new, says which saved state is to be deleted (R10.2).
      return isCurrent || wasPrivate || state.isPrivate
    }
    if mustTell { app?.changed(self) }
  }

  /// Called with the lock.
  private func changeState(_ change: (inout Activity) throws(SegueError) -> Void) throws(SegueError) {
    guard saving?.draft != nil else { return try state.update(whileSaving: isSaving, change) }
    // A change of another thread counts in the draft, too: the save is to keep it.
    if !isSaving {
      var changed = state
      try changed.update(whileSaving: false, change)
      try changeDraft(change)
      state = changed
    } else {
      try changeDraft(change)
    }
  }

  private func changeDraft(_ change: (inout Activity) throws(SegueError) -> Void) throws(SegueError) {
    var former = takeDraft()
    defer { putDraft(&former) }
    try state.update(whileSaving: true, change)
  }

  /// Merges entries into `user_info` (R1.10). A save gathers them, so that many additions take no longer than their
  /// number says.
  public func addUserInfoEntries(_ entries: Value, limit: Int) throws(SegueError) {
    let isDraft = try lock.withLock { () throws(SegueError) in
      guard isSaving, saving?.draft != nil else { return false }
      try saving?.draft?.add(entries, limit: limit)
      noteChange()
      return true
    }
    guard !isDraft else { return }
    try update { (state) throws(SegueError) in try state.addUserInfoEntries(entries, limit: limit) }
  }

  /// Called with the lock.
  private func noteChange() {
    lastChange = uptime
    changeCount &+= 1
  }

  /// Takes over a state that has come back (R3.10), unless it has changed since it had this change count; nil: whatever
  /// has changed.
  /// - Returns: its state from now on; nil if it stays as it is.
  func replace(with state: Activity, ifChangeCountIs count: UInt64?) -> Activity? {
    lock.withLock {
      guard count.map({ $0 == changeCount }) ?? true else { return nil }
      // The state that a save in progress has written and will write is the former one.
      saving?.isObsolete = true
      self.state.replace(with: state)
      noteChange()
      return self.state
    }
  }

  /// Sets only the mark: cheap, and only the first of many calls, and the first after a save that failed, reaches the
  /// engine (R2.3). Calls neither the system nor the host.
  /// - Returns: whether the app must be told, by `tellApp`.
  public func setNeedsSave(_ needsSave: Bool) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    let isNews = (state.needsSave != needsSave || isUnscheduled) && isCurrent
    isUnscheduled = false
    // Inside `will_save` this concerns that save, not later ones.
    if !needsSave, isSaving { state.markNeedsSave(false) } else { state.declareNeedsSave(needsSave) }
    if needsSave { noteChange() } else { lastChange = uptime }
    return isNews
  }

  /// Tells the app that the activity has changed.
  public func tellApp() { app?.changed(self) }

  /// Whether the agent offers the last snapshot once the app has ended (R2.5).
  public func setKeepsOffering(_ keepsOffering: Bool) {
    let mustTell = lock.withLock {
      state.keepsOffering = keepsOffering
      return isCurrent
    }
    if mustTell { app?.changed(self) }
  }

  /// Attaches it, in place of an attachment of that name (R7.6). Throws INVALID_ARGUMENT, LIMIT_EXCEEDED.
  public func attach(_ attachment: Attachment) throws(SegueError) {
    try update { (state) throws(SegueError) in try state.attach(attachment) }
  }

  /// Throws NOT_FOUND.
  public func attachment(_ name: String) throws(SegueError) -> Attachment {
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

  public func invalidate() { invalidate(isReleased: false) }

  private func invalidate(isReleased: Bool) {
    let wasValid = lock.withLock {
      defer { isValid = false }
      return isValid
    }
    if wasValid { app?.invalidate(self, isReleased: isReleased) }
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
  var changes: UInt64 { lock.withLock { changeCount } }
  /// Its own delegate; nil if it has none, or its host has released it.
  var ownDelegate: ActivityDelegate? { lock.withLock { delegate }.flatMap { $0.isAttached ? $0 : nil } }

  func setCurrent(_ isCurrent: Bool) { lock.withLock { self.isCurrent = isCurrent } }

  /// Sets the mark without a call of the engine, on behalf of the engine.
  func setNeedsSaveQuietly(_ needsSave: Bool) {
    lock.withLock {
      state.markNeedsSave(needsSave)
      isUnscheduled = needsSave
    }
  }

  /// The app has closed.
  func leaveApp() {
    lock.withLock {
      isCurrent = false
      isValid = false
    }
  }

  /// Callbacks of a save are about to run on this thread; an unanswered earlier save no longer counts. A managed
  /// activity is filled apart: from nothing, if responders fill it, and the URL of its document (R4.2).
  func beginSaving(_ number: UInt64, _ plan: SavePlan) {
    lock.withLock {
      saving = Saving(number: number, thread: pthread_self())
      guard plan.isManaged else { return }
      saving?.draft = UserInfoDraft(plan.responders.isEmpty ? state.userInfo : .emptyDictionary)
    }
    if let url = plan.documentURL { putBack(documentURL: url, in: number) }
  }

  /// The draft of a save has the URL of the activity's document.
  func putBack(documentURL url: String, in number: UInt64) {
    guard let document = try? Activity.documentEntry(url) else { return }
    lock.withLock {
      guard saving?.number == number else { return }
      // If it does not fit, the snapshot says so.
      try? saving?.draft?.add(document, limit: Limits.value)
    }
  }

  /// Callbacks of the save run on this thread again.
  func resumeSaving(_ number: UInt64) {
    lock.withLock { if saving?.number == number { saving?.thread = pthread_self() } }
  }

  /// A callback of the save has returned, and will be answered later.
  func continueSaving(_ number: UInt64) {
    lock.withLock { if saving?.number == number { saving?.thread = nil } }
  }

  /// The engine has given the save up: what is to be answered later is over. A callback that runs still has its draft,
  /// and what it writes there is forgotten.
  func giveUpSaving(_ number: UInt64) {
    lock.withLock { if saving?.number == number, saving?.thread == nil { saving = nil } }
  }

  /// The save has ended; its draft becomes the `user_info` of all, or is forgotten.
  func endSaving(_ number: UInt64, keepsDraft: Bool) {
    lock.withLock {
      guard let ended = saving, ended.number == number else { return }
      if keepsDraft, ended.draft != nil, !ended.isObsolete { _ = takeDraft() }
      saving = nil
    }
  }

  private var isSaving: Bool {
    guard let saving else { return false }
    return saving.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? true
  }
}
