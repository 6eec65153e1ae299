// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// Callbacks that do not come from the engine.
enum HostTask {
  /// Objects to restore.
  case restoration(Continuation)
  /// The document of a continuation is to be opened.
  case opening(Continuation)
  /// Progress, or the end, of an attachment download.
  case download(any AppDownload)
  /// The rest of a save, one of whose steps was answered later.
  case save(SaveSequence)
  /// Documents without an activity may get one: the manifest of the app holds.
  case documents
}

/// Turns deliveries into callbacks. Each function is called with the app's lock and returns the work to do without it,
/// which tells whether a callback of the host ran.
extension App: AppEngineOwner {
  public func deliver(_ delivery: Delivery) {
    switch delivery {
    case .log(let severity, let message): return logs.append((severity, message))
    case .streamAnswered(let id, let error):
      guard let download = pending.download(id) else { break }
      observer?.willRun(delivery)
      pending.remove(id)
      return downloads.append(answer: error, for: download)
    default: break
    }
    observer?.queued(delivery)
    due.append(delivery)
  }

  public func manifestHolds(_ manifest: AppManifest) {
    add(manifest)
    if !documents.isEmpty { due.append(.documents) }
  }

  public func foldersAre(_ folders: UserFolders) {
    setFolders(folders)
    if !documents.isEmpty { due.append(.documents) }
  }

  public var isBacklogged: Bool { due.isFull }
  public func logs(_ severity: Severity) -> Bool { environment.logs(severity) }

  /// Downloads get at once what is not for the host.
  func answerDownloads() {
    for (download, error) in downloads.takeAnswers() { download.answered(error) }
  }

  typealias CallbackInvocation = () -> Bool
  private static func nothing() -> Bool { false }

  func turn(of item: CallbackQueue<HostTask>.Item) -> CallbackInvocation {
    switch item {
    case .other(.restoration(let continuation)):
      return {
        continuation.runRestoration()
        return true
      }
    case .other(.opening(let continuation)): return open(continuation)
    case .other(.download(let download)): return turn(of: download)
    case .other(.save(let sequence)): return { sequence.run() }
    case .other(.documents):
      return {
        self.matchAgain()
        return false
      }
    case .delivery(let delivery): return turn(of: delivery)
    }
  }

  private func turn(of delivery: Delivery) -> CallbackInvocation {
    let delegate = self.delegate
    observer?.willRun(delivery)
    switch delivery {
    case .connection(let isReady):
      return {
        delegate.map { delegate in delegate.call { delegate.connection(self, isReady: isReady) } ?? false } ?? false
      }
    case .offer(let event, let offer):
      return {
        delegate.map { delegate in
          delegate.call { delegate.offer(self, event.rawValue, OfferObject(offer, self.environment)) } ?? false
        }
          ?? false
      }
    case .willSave(let id, let number): return save(id, number)
    case .orphaned(let id): return orphaned(id)
    case .documentChanged(let responder): return documentChanged(responder)
    case .wasContinued(let id, let receipt):
      return tell(activities.attempted(id)) { delegate, activity in delegate.wasContinued(activity, SharedBox(receipt))
      }
    case .continuationEnded(let id, let receipt):
      // The end of an attempt is told whatever has become of the activity (R3.6).
      let activity = activities.attempted(id)
      let turn = tell(activity) { delegate, activity in delegate.continuationEnded(activity, SharedBox(receipt)) }
      if !isAttempted(id) { activities.forgetAttempted(id) }
      // Releases it without the lock.
      return { withExtendedLifetime(activity) { turn() } }
    case .continuation(let id): return step(of: id)
    case .explanation(let request, let reasons):
      guard case .explanation(let callback)? = pending.remove(request) else { return Self.nothing }
      return {
        callback.explained(self, reasons)
        return true
      }
    case .linked(let number, let deviceName):
      guard case .link(let link)? = pending[number] else { return Self.nothing }
      return {
        link.linked(self, deviceName: deviceName)
        return true
      }
    case .linkEnded(let number, let error):
      guard case .link(let link)? = pending.remove(number) else { return Self.nothing }
      return {
        link.ended(self, SharedBox(error))
        link.forget()
        return true
      }
    case .streamAnswered(let id, let error): return streamAnswered(id, error)
    case .streamCame(let id, let activity): return streamCame(id, activity)
    case .streamEnded(let id, let status): return streamEnded(id, status)
    case .answered(let number, let bytes, let error): return answered(number, bytes, error)
    case .requestCame(let number, let activity, let bytes): return requestCame(number, activity, bytes)
    case .log: return Self.nothing
    }
  }

  func tell(_ id: Identifier, _ body: @escaping (ActivityDelegate, LiveActivity) -> Bool) -> CallbackInvocation {
    tell(activities[id], body)
  }

  private func tell(
    _ activity: LiveActivity?, _ body: @escaping (ActivityDelegate, LiveActivity) -> Bool
  ) -> CallbackInvocation {
    guard let activity, let delegate = activities.delegate(of: activity) else { return Self.nothing }
    return { delegate.call { body(delegate, activity) } ?? false }
  }

  // MARK: Continuations

  private func step(of id: Identifier) -> CallbackInvocation {
    guard let engine else { return Self.nothing }
    if case .resumption(let request)? = pending[id] { return step(of: id, request, engine) }
    guard let continuation = pending.continuation(id) ?? delivered(id, engine) else { return Self.nothing }
    if let progress = engine.progress(of: id) { continuation.progressed(progress) }
    guard let step = engine.step(id, environment.now) else { return Self.nothing }
    observer?.willRun(step, of: id)
    switch step {
    case .willResumeBack, .resumedBack: return Self.nothing
    case .willContinue(let offer): return willContinue(offer, continuation)
    case .continue(let state, let from): return `continue`(state, from, continuation)
    case .didFail(let type, let error):
      pending.remove(id)
      let delegate = self.delegate
      return { Self.didFail(type, error, continuation, self, delegate) }
    case .openingFailed(let type, let error):
      pending.remove(id)
      let delegate = self.delegate
      return {
        self.endOpening(id, isOpen: false)
        return Self.didFail(
          type, error, continuation, self, delegate, hasContinued: continuation.hasContinueHandler)
      }
    }
  }

  /// A continuation that the agent delivers begins (R3.8).
  private func delivered(_ id: Identifier, _ engine: AppEngine) -> Continuation? {
    guard let offer = engine.deliveredOffer(of: id) else { return nil }
    let continuation = Continuation(id: id, offer: offer, app: self)
    pending.add(id, .continuation(continuation))
    return continuation
  }

  private func step(of id: Identifier, _ request: ResumeBack, _ engine: AppEngine) -> CallbackInvocation {
    guard let step = engine.step(id, environment.now) else { return Self.nothing }
    drainEngine()
    observer?.willRun(step, of: id)
    if case .willResumeBack(_, let hasChanged) = step {
      let delegate = activities.delegate(of: request.activity)
      return { request.ask(delegate, hasChanged: hasChanged) }
    }
    pending.remove(id)
    switch step {
    case .resumedBack(let resumed):
      let isStale = resumed.isStale
      let tell = tell(request.activity) { delegate, activity in delegate.didResumeBack(activity, isStale: isStale) }
      return {
        self.performIfOpen { $0.answer(id, handled: true, restored: true, $1) }
        _ = tell()
        request.ended(isStale: isStale, nil)
        return true
      }
    case .didFail(_, let error):
      return {
        request.ended(isStale: false, error)
        return true
      }
    case .willResumeBack, .willContinue, .continue, .openingFailed: return Self.nothing
    }
  }

  private func willContinue(_ offer: Offer, _ continuation: Continuation) -> CallbackInvocation {
    let delegate = self.delegate
    return {
      continuation.beginAnnouncing()
      let isTold = delegate.flatMap { delegate in
        delegate.call { delegate.willContinue(self, type: offer.description.type, continuation) }
      }
      let reason = continuation.endAnnouncing()
      self.performIfOpen { $0.announced(continuation.id, decline: reason, $1) }
      return isTold ?? false
    }
  }

  private func `continue`(_ state: Activity, _ from: ContinuedFrom, _ continuation: Continuation) -> CallbackInvocation
  {
    let delegate = self.delegate
    return {
      let activity: LiveActivity
      do throws(SegueError) {
        activity = try LiveActivity(state, app: self, continuedFrom: from)
      } catch {
        // The app closes. The engine counts it as continued; the origin hears of the failure, and the host gets
        // did_fail (R3.2).
        let error = SegueError(.cancelled, "the app was closed")
        _ = self.answer(continuation, failure: error)
        return Self.didFail(state.type, error, continuation, self, delegate)
      }
      continuation.arrived(activity, hasHandler: delegate.map { $0.isAttached && $0.continues } ?? false)
      let reply = delegate?.call { delegate?.continue(self, activity, continuation) }.flatMap { $0 }
      switch reply {
      case .later?: break
      // Fails if the host has answered already, or too late: then opening_failed follows.
      case .yes?: try? continuation.complete(handled: true)
      case .no?, nil: try? continuation.complete(handled: false)
      }
      return reply != nil
    }
  }

  /// Writes the error to the log; without a log, the agent keeps it. A cancel by the user is no error.
  private func report(_ error: SegueError, ofType type: String) {
    let isCancel = error.status == .userCancelled
    if environment.logs(.error) {
      environment.log(isCancel ? .info : .error, "\(type) could not be continued: \(error.message)")
    } else if !isCancel {
      performIfOpen { $0.reportUnheard(type, error, $1) }
    }
  }

  /// - Parameter hasContinued: after a continue of the host there is no did_fail (R3.2).
  /// - Returns: whether a callback of the host ran.
  private static func didFail(
    _ type: String, _ error: SegueError, _ continuation: Continuation, _ app: App, _ delegate: AppDelegate?,
    hasContinued: Bool = false
  ) -> Bool {
    let told = delegate.flatMap { delegate in
      delegate.call {
        hasContinued
          ? delegate.openingFailed(app, type: type, SharedBox(error), continuation)
          : delegate.didFail(app, type: type, SharedBox(error), continuation)
      }
    }
    // R3.13: no failure is silent.
    if told != true { app.report(error, ofType: type) }
    continuation.end()
    return told ?? false
  }
}
