// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// An app's documents (R5), and those that it opens for what it continues (R3.5).
extension App {
  /// Throws INVALID_STATE before the app is open, INVALIDATED after it is closed.
  public func add(_ document: LiveDocument) throws(SegueError) {
    let responder = document.responder
    let real = realURL(of: document.url)
    try perform { engine, _ in
      document.realURL = real
      responder.engineResponder = engine.addResponder(
        responder, updates: responder.updates, documentURL: urlInContainer(of: document))
      documents.append(document)
    }
    try document.moveLock.withLock { () throws(SegueError) in try matchActivity(of: document) }
  }

  /// Invalidates its activity. No effect the second time.
  public func close(_ document: LiveDocument) {
    let released = ReleasedObjects()
    let last = document.moveLock.withLock {
      locked {
        document.isClosed = true
        if let engineResponder = document.responder.engineResponder { documents.remove(engineResponder.number) }
        document.endObservation(released)
        // An activity that came, and was not handed over to it, is not its own.
        return document.awaitedOpening == nil ? activityNow(of: document) : nil
      }
    }
    last?.invalidate()
    // The host's functions destroy contexts, so this happens without the locks.
    document.responder.end()
    withExtendedLifetime(released) {}
  }

  /// The app is closed, or dead: no change of a document, and no end of an attempt, is told any longer. Called with the
  /// lock.
  /// - Returns: what the caller releases without it.
  func endObservations() -> ReleasedObjects {
    let released = ReleasedObjects()
    for document in documents.all { document.endObservation(released) }
    activities.forgetAttempted(released)
    return released
  }

  /// The file is elsewhere now. Throws INVALIDATED.
  public func setURL(_ url: String, of document: LiveDocument) throws(SegueError) {
    let real = realURL(of: url)
    try document.moveLock.withLock { () throws(SegueError) in
      try checkIsOpen(document)
      guard let engineResponder = document.responder.engineResponder else { return }
      try perform { engine, _ in
        (document.url, document.realURL) = (url, real)
        engine.setDocumentURL(urlInContainer(of: document), of: engineResponder)
      }
      try matchActivity(of: document)
    }
  }

  /// From now on it is told of changes, and of none before. Throws INVALIDATED.
  public func add(_ observer: DocumentObserver) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    let document = observer.document
    guard !document.isClosed else { throw SegueError(.invalidated, "document: is closed") }
    observer.told = activityNow(of: document)
    document.observers.append(observer)
  }

  func remove(_ observer: DocumentObserver) {
    let told = locked {
      observer.document.observers.removeAll { $0 === observer }
      return observer.told.take()
    }
    withExtendedLifetime(told) {}
  }

  /// The containers have changed.
  func matchActivities() throws(SegueError) {
    let all = locked { documents.all }
    for document in all { try document.moveLock.withLock { () throws(SegueError) in try matchActivity(of: document) } }
  }

  /// The app has other document types or containers than before.
  func matchAgain() { match(locked { documents.all }) }

  /// The URL of the real path of a file, which is compared with the real folders of containers: a folder that has come
  /// meanwhile has its documents.
  private func realURL(of url: String) -> String? {
    // First: if there is a path through a folder, the folder is there to be found.
    let real = environment.realURL(of: url)
    if findFolders() { match(locked { documents.all }) }
    return real
  }

  private func match(_ documents: [LiveDocument]) {
    for document in documents {
      document.moveLock.withLock {
        do throws(SegueError) {
          try matchActivity(of: document)
        } catch {
          environment.log(.error, "document \(document.url): \(error.message)")
        }
      }
    }
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
  private func urlInContainer(of document: LiveDocument) -> String {
    containers.url(ofDocument: document.url, real: document.realURL)
  }

  /// Called with the lock.
  private func activityNow(of document: LiveDocument) -> LiveActivity? {
    document.responder.engineResponder.flatMap { engine?.activity(of: $0) }.flatMap { activities[$0] }
  }

  /// Inside a container it has an activity with its URL, by itself if there is a type for it; outside it has none
  /// (R5.2). Called with the lock of its moves.
  private func matchActivity(of document: LiveDocument) throws(SegueError) {
    let (url, isClosed, place, former, left, title, oldTitle) = locked {
      let url = urlInContainer(of: document)
      if let engineResponder = document.responder.engineResponder { engine?.setDocumentURL(url, of: engineResponder) }
      let place = containers.place(of: url)
      let oldTitle = document.title
      // The name that the user sees, whatever the file behind a link is called. Each device has its own for a
      // container.
      document.title = place.flatMap { $0.path.isEmpty ? nil : AbsoluteURL.fileName(document.url) }
      let former = activityNow(of: document)
      return (
        url, document.isClosed, place, former, document.leftActivity, document.title, oldTitle
      )
    }
    guard !isClosed else { return }
    guard let place else {
      guard let former else { return explain(url, "the file is in no container of the app") }
      try setActivity(nil, of: document.responder)
      locked { document.leftActivity = former.id }
      return try former.update { (state) throws(SegueError) in try state.removeDocumentURL() }
    }
    let entry = try Activity.documentEntry(url)
    if let former {
      try former.addUserInfoEntries(entry, limit: Limits.value)
      // The title follows the file, unless the app has set another.
      guard oldTitle != nil, !Text.isSame(title, oldTitle), Text.isSame(former.read { $0.title }, oldTitle)
      else { return }
      return try former.update { (state) throws(SegueError) in try state.setTitle(title) }
    }
    guard let engineResponder = document.responder.engineResponder else { return }
    if try isOpened(document, engineResponder, as: place) { return }
    guard let type = locked({ settings.activityType(ofDocument: document.typeAndRole) }) else {
      return explain(url, "no document type of the app has its content type and role")
    }
    var state = try Activity(type: type)
    try state.setTitle(title)
    try state.addUserInfoEntries(entry, limit: Limits.value)
    let activity = try LiveActivity(state, app: self)
    try perform { engine, now in
      engine.setActivity(activity.id, of: engineResponder, now)
      if let left { engine.moveResponders(of: left, to: activity.id, now) }
      document.leftActivity = nil
    }
  }

  /// Whether it is the document that is being opened: it has the activity that came, unless another one is handed over.
  /// The opening is looked for and noted at once: one that has ended in between would be awaited for ever.
  private func isOpened(
    _ document: LiveDocument, _ responder: Responder, as place: ContainerPlace
  ) throws(SegueError) -> Bool {
    var isAwaited = false
    try perform { engine, now in
      let named = containers.place(of: document.url) ?? place
      guard let opening = documents.opening(at: place, or: named, containers) else { return }
      engine.setActivity(opening.activity, of: responder, now)
      document.awaitedOpening = opening.id
      isAwaited = true
    }
    return isAwaited
  }

  @inline(never)
  private func explain(_ url: String, _ why: StaticString) {
    environment.log(.info, "document: no activity for \(url): \(why)")
  }

  /// Called with the lock.
  func documentChanged(_ number: UInt64) -> CallbackInvocation {
    guard let document = documents[number], let engineResponder = document.responder.engineResponder, let engine
    else { return { false } }
    let new = engine.takeChange(of: engineResponder).flatMap { activities[$0] }
    var changes: [(observer: DocumentObserver, old: LiveActivity?)] = []
    for observer in document.observers where observer.told !== new {
      changes.append((observer, observer.told))
      observer.told = new
    }
    guard !changes.isEmpty else { return { false } }
    return {
      var hasRun = false
      for (observer, old) in changes {
        if observer.call({ observer.activityChanged(old, new) }) != nil { hasRun = true }
      }
      return hasRun
    }
  }

  // MARK: Opening

  /// The next step for an activity that a continuation has brought, and that was not handled.
  enum AfterDeclining {
    /// The document of this activity is opened.
    case opening(LiveActivity)
    /// Its document cannot be opened.
    case failed(SegueError)
    case declined
  }

  /// Whether its document is opened, if the host does not handle it.
  public func mayOpenDocument(of activity: LiveActivity) -> Bool {
    activity.continuedFrom?.documentURL != nil && locked { settings.isOfDocuments(activity.type) }
  }

  /// An app without documents declines what its handler has not handled. Without a handler that is a failure (R3.5).
  func afterDeclining(_ activity: LiveActivity, isHandlerThere: Bool) -> AfterDeclining {
    // A manifest may change the settings at this moment.
    let (settings, opensDocuments) = locked {
      (self.settings, delegate.map { $0.isAttached && $0.opensDocuments } ?? false)
    }
    let namesDocument = activity.read { $0.documentURL != nil }
    if isHandlerThere, !namesDocument || !opensDocuments && !settings.hasDocumentTypes { return .declined }
    if opensDocuments, mayOpenDocument(of: activity) { return .opening(activity) }
    let why: DiagnosticText =
      if !namesDocument {
        "it names no document to open"
      } else if activity.continuedFrom?.documentURL == nil {
        "its document is in no container of this app"
      } else if !settings.isOfDocuments(activity.type) {
        "no document type of this app has its type"
      } else {
        "this app has no open_document"
      }
    return .failed(SegueError(.handoffFailed, isHandlerThere ? why : "there is no continue handler, and \(why)"))
  }

  /// - Returns: false if it is too late.
  func beginOpening(_ continuation: Continuation, _ next: AfterDeclining) -> Bool {
    var hasBegun = false
    performIfOpen { engine, now in
      hasBegun = engine.beginOpening(continuation.id)
      guard hasBegun else { return }
      switch next {
      case .opening(let activity):
        if let url = activity.continuedFrom?.documentURL {
          documents.beginOpening(DocumentTable.Opening(id: continuation.id, activity: activity.id, url: url))
        }
        due.append(.opening(continuation))
      case .failed(let error): engine.failOpening(continuation.id, error, now)
      case .declined: break
      }
      environment.signalDue()
    }
    return hasBegun
  }

  /// An app that closes opens no document: its answer would be refused. Called with the lock.
  func open(_ continuation: Continuation) -> CallbackInvocation {
    let delegate = isOpen ? self.delegate : nil
    return { continuation.runOpening(delegate) }
  }

  func failOpening(_ continuation: Continuation, _ error: SegueError) {
    performIfOpen { $0.failOpening(continuation.id, error, $1) }
  }

  /// The document gets the activity that was continued for it, as do those that share its own. Throws INVALIDATED;
  /// REMOTE_APPLICATION_TIMED_OUT if it is too late.
  func adopt(_ document: LiveDocument, _ activity: LiveActivity, _ continuation: Continuation) throws(SegueError) {
    try checkIsOpen(document)
    guard let engineResponder = document.responder.engineResponder else { return }
    var isAwaited = false
    try perform { engine, now in
      isAwaited = engine.beginRestoring(continuation.id)
      guard isAwaited else { return }
      observer?.answered(continuation.id)
      if let former = engine.activity(of: engineResponder), former != activity.id {
        engine.moveResponders(of: former, to: activity.id, now)
      }
      engine.setActivity(activity.id, of: engineResponder, now)
      // At once: an end of the opening by another thread would take the activity away again.
      document.awaitedOpening = nil
    }
    if !isAwaited { throw Self.tooLate }
    endOpening(continuation.id, isOpen: true)
  }

  /// The document of a continuation is open, or will not be: others of its URL get an activity of their own, with the
  /// responders that share the one that came, unless that has a document.
  func endOpening(_ id: Identifier, isOpen: Bool) {
    let (waiting, came) = locked { documents.endOpening(id) }
    for document in waiting {
      // Fails if it is closed meanwhile, and then it needs none.
      try? document.moveLock.withLock { () throws(SegueError) in
        try setActivity(nil, of: document.responder)
        locked {
          if !isOpen { document.leftActivity = came }
          document.awaitedOpening = nil
        }
        try matchActivity(of: document)
      }
    }
  }
}
