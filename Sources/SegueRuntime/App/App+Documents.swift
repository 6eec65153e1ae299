import SegueEngine
import SegueModel
import SegueTransport

/// An app's documents (R5), and those that it opens for what it continues (R3.5).
extension App {
  /// Throws INVALID_STATE before the app is open, INVALIDATED after it is closed.
  public func add(_ document: LiveDocument) throws(SegueError) {
    let responder = document.responder
    try perform { engine, _ in
      responder.place = engine.addResponder(responder, updates: responder.updates, documentURL: document.url)
      documents.append(document)
    }
    try document.moving.withLock { () throws(SegueError) in try settle(document) }
  }

  /// Invalidates its activity. No effect the second time.
  public func close(_ document: LiveDocument) {
    let (last, told) = document.moving.withLock {
      locked {
        document.isClosed = true
        documents.removeAll { $0 === document }
        return (activityNow(of: document), document.told.take())
      }
    }
    last?.invalidate()
    // The host's functions destroy contexts, so this happens without the locks.
    document.responder.end()
    withExtendedLifetime(told) {}
  }

  /// The file is elsewhere now. Throws INVALIDATED.
  public func setURL(_ url: String, of document: LiveDocument) throws(SegueError) {
    try document.moving.withLock { () throws(SegueError) in
      try checkIsOpen(document)
      guard let place = document.responder.place else { return }
      try perform { engine, _ in
        document.url = url
        engine.setDocumentURL(url, of: place)
      }
      try settle(document)
    }
  }

  /// From now on changes of its activity are told.
  public func beginTelling(_ document: LiveDocument) {
    let former = locked {
      defer { document.told = activityNow(of: document) }
      return document.told
    }
    withExtendedLifetime(former) {}
  }

  /// The containers have changed.
  func settleDocuments() throws(SegueError) {
    let all = locked { documents }
    for document in all { try document.moving.withLock { () throws(SegueError) in try settle(document) } }
  }

  private func checkIsOpen(_ document: LiveDocument) throws(SegueError) {
    guard !locked({ document.isClosed }) else { throw SegueError(.invalidated, "document: is closed") }
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    monitor.lock()
    defer { monitor.unlock() }
    return body()
  }

  /// Called with the lock.
  private func activityNow(of document: LiveDocument) -> LiveActivity? {
    document.responder.place.flatMap { engine?.activity(of: $0) }.flatMap { activities[$0] }
  }

  /// Inside a container it has an activity with its URL, by itself if there is a type for it; outside it has none
  /// (R5.2). Called with the lock of its moves.
  private func settle(_ document: LiveDocument) throws(SegueError) {
    let (url, isClosed, isInside, former, left) = locked {
      (
        document.url, document.isClosed, containers.place(of: document.url) != nil, activityNow(of: document),
        document.left
      )
    }
    guard !isClosed else { return }
    guard isInside else {
      guard let former else { return }
      try setActivity(nil, of: document.responder)
      locked { document.left = former.id }
      return try former.update { (state) throws(SegueError) in try state.removeDocumentURL() }
    }
    let entry = try Activity.documentEntry(url)
    if let former { return try former.addUserInfoEntries(entry, limit: Limits.value) }
    guard let type = settings.activityType(ofDocument: document.kind), let place = document.responder.place
    else { return }
    var state = try Activity(type: type)
    try state.addUserInfoEntries(entry, limit: Limits.value)
    let activity = try LiveActivity(state, app: self)
    try perform { engine, now in
      engine.setActivity(activity.id, of: place, now)
      if let left { engine.moveResponders(of: left, to: activity.id, now) }
      document.left = nil
    }
  }

  /// Called with the lock.
  func documentChanged(_ number: UInt64) -> CallbackInvocation {
    guard let document = documents.first(where: { $0.responder.place?.number == number }),
      let place = document.responder.place, let engine
    else { return { false } }
    let old = document.told
    let new = engine.takeChange(of: place).flatMap { activities[$0] }
    document.told = new
    guard old !== new else { return { false } }
    return { document.responder.call { document.activityChanged(old, new) } != nil }
  }

  // MARK: Opening

  /// Whether its document is opened, if the host does not handle it.
  public func mayOpenDocument(of activity: LiveActivity) -> Bool {
    activity.continuedFrom?.documentURL != nil && settings.isOfDocuments(activity.type)
  }

  /// The activity that a continuation has brought was not handled.
  /// - Returns: whether its document is opened instead.
  func beginOpening(_ continuation: Continuation, _ activity: LiveActivity) -> Bool {
    guard mayOpenDocument(of: activity) else { return false }
    monitor.lock()
    defer { monitor.unlock() }
    guard let delegate, delegate.isAttached, delegate.opensDocuments, let engine, engine.beginOpening(continuation.id)
    else { return false }
    due.append(.opening(continuation))
    environment.signalDue()
    return true
  }

  /// Called with the lock.
  func open(_ continuation: Continuation) -> CallbackInvocation {
    let delegate = self.delegate
    return { continuation.runOpening(delegate) }
  }

  func failOpening(_ continuation: Continuation, _ error: SegueError) {
    performIfOpen { $0.failOpening(continuation.id, error, $1) }
  }

  /// The document gets the activity that was continued for it, as do those that share its own. Throws INVALIDATED;
  /// REMOTE_APPLICATION_TIMED_OUT if it is too late.
  func adopt(_ document: LiveDocument, _ activity: LiveActivity, _ continuation: Continuation) throws(SegueError) {
    try checkIsOpen(document)
    guard let place = document.responder.place else { return }
    var isAwaited = false
    try perform { engine, now in
      isAwaited = engine.isAwaited(continuation.id)
      guard isAwaited else { return }
      if let former = engine.activity(of: place) { engine.moveResponders(of: former, to: activity.id, now) }
      engine.setActivity(activity.id, of: place, now)
    }
    if !isAwaited { throw Self.tooLate }
  }
}
