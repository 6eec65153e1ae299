// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The requests of the agent's engine to its owner.
extension InboxService: AgentOwner {
  public func drawIdentifier() -> Identifier? { try? environment.drawIdentifier() }

  public func found(_ number: UInt64, _ result: Result<AppChoice, SegueError>) {
    // Posted, because the callee may call the engine, which is in the middle of a call.
    environment.post { [self] in
      callers.takeLook(number)?(result)
    }
  }

  public func gone(_ activity: Identifier) {
    // The engine is in the middle of a call.
    environment.post { [self] in observer?.offerEnded(activity) }
  }

  public func choose(_ choice: AppChoice) throws(SegueError) -> ChosenApp {
    try router(choice.running).choose(choice)
  }

  public func collect(_ wanted: [Attachment], of continuation: Identifier, for principal: Identifier?) {
    opened?.transfers.collect(wanted, of: continuation, for: principal)
  }

  public func stopCollecting(_ continuation: Identifier) { opened?.transfers.stop(continuation) }
  public func streamAnswered(_ id: Identifier, _ error: SegueError?) { opened?.transfers.answered(id, error) }
  public func serve(_ request: StreamRequest) { opened?.transfers.serve(request, of: nil) }
  public func serve(_ request: StreamRequest, of offer: KeptParticipant) { opened?.transfers.serve(request, of: offer) }

  public func began(_ number: UInt64, _ continuation: Identifier, in app: ChosenApp, isShared: Bool) {
    callers.begin(number)?(continuation, app, isShared)
  }

  public func launch(_ app: ChosenApp, for continuation: Identifier, _ number: UInt64) {
    let variables = callers.environment(of: number)
    do throws(SegueError) {
      try launch(app, variables) { [self] error in perform { $0.launched(continuation, error, $1) } }
    } catch {
      // One is under way: the app will open.
      let error = error.status == .busy ? nil : error
      environment.post { [self] in perform { $0.launched(continuation, error, $1) } }
    }
  }

  public func show(_ page: String, in browser: ChosenApp, for continuation: Identifier, _ number: UInt64) {
    let variables = callers.environment(of: number)
    do throws(SegueError) {
      try launcher.open(page, in: browser.bundleIdentifier, variables) { [self] error in
        perform { $0.shown(continuation, error, $1) }
      }
    } catch {
      environment.post { [self] in perform { $0.shown(continuation, error, $1) } }
    }
  }

  public func open(
    _ document: OpenedDocument, with opener: ChosenApp, for continuation: Identifier, _ number: UInt64
  ) {
    let variables = callers.environment(of: number)
    do throws(SegueError) {
      try launcher.open(document, with: opener.bundleIdentifier, variables) { [self] error in
        perform { $0.shown(continuation, error, $1) }
      }
    } catch {
      environment.post { [self] in perform { $0.shown(continuation, error, $1) } }
    }
  }

  private func launch(
    _ app: ChosenApp, _ variables: [LaunchVariable], _ done: @escaping (SegueError?) -> Void
  ) throws(SegueError) {
    guard app.form != .argument else {
      throw SegueError(
        .notFound, "launch of \(app.bundleIdentifier): a page waits for its extension, which is not running")
    }
    guard let declaration = installed.catalogue[app.bundleIdentifier] else {
      throw SegueError(
        .notFound, "launch of \(app.bundleIdentifier): it was open, and no manifest says how to start it")
    }
    switch declaration.launch {
    case .impossible(let error): throw error
    case .command:
      try launcher.launch(app.bundleIdentifier, variables, done)
    }
  }

  public func opened(_ app: AppIdentity) {
    launcher.opened(app.bundleIdentifier)
    // It is stored only of apps that have a manifest: others are no candidates unless they are open, and then they have
    // opened.
    preferences.markUsed(app.bundleIdentifier, isStored: installed.catalogue[app.bundleIdentifier] != nil)
  }

  public func perform(_ request: InboxRequest) { disk.perform(request) { [self] reply in stored(reply, of: request) } }

  private func stored(_ reply: InboxReply, of request: InboxRequest) {
    perform { $0.stored(reply, of: request, $1) }
    // The disk has it, too, that the app which has restored an activity was used most recently.
    if case .acknowledged(_, _, .success) = reply, case .acknowledge(_, _, _, let receipt) = request,
      receipt.outcome == .restored
    {
      preferences.markUsed(receipt.receiver.bundleIdentifier, isStored: false)
    }
  }

  public func withdrawn(_ number: UInt64, _ error: SegueError?) {
    callers.takeWithdrawal(number)?(error)
  }

  public func change(_ change: SavedChange, of app: AppIdentity, principal: Identifier, _ number: UInt64) {
    self.change(change, app, principal) { [self] result in perform { engine, _ in engine.changed(number, result) } }
  }

  // The hub may be in the middle of a call.
  public func join(_ offer: KeptParticipant) {
    environment.post { [self] in
      guard opened != nil else { return }
      do throws(SegueError) {
        kept.append((offer, try hub.join(offer)))
      } catch {
        environment.log(.error, "keep offering: \(error.message)")
        perform { $0.notJoined(offer, $1) }
      }
    }
  }

  public func leave(_ offer: KeptParticipant) {
    environment.post { [self] in
      guard let index = kept.firstIndex(where: { $0.offer === offer }) else { return }
      kept.remove(at: index).participant.close()
    }
  }

  public func ended(_ receipt: Receipt, of offer: KeptParticipant) {
    // Its engine is in the middle of a call.
    environment.post { [self] in perform { $0.ended(receipt, of: offer, $1) } }
  }

  public func withdraw(_ offer: KeptParticipant) {
    // Another engine is in the middle of a call.
    environment.post { [self] in perform(offer) { offer.withdraw(environment.now) } }
  }

  public func noteRetention() {
    guard !isTellingRetention else { return }
    isTellingRetention = true
    // The engine is in the middle of a call; and there may be more news in this turn.
    environment.post { [self] in
      isTellingRetention = false
      observer?.retentionChanged()
    }
  }

  public func pushKept(_ id: Identifier, _ error: SegueError?) {
    // The engine is in the middle of a call.
    environment.post { [self] in
      callers.takeKeptPush(id)?(error)
    }
  }

  public func answer(_ number: UInt64, _ result: Result<AgentContinuationReport, SegueError>) {
    guard let caller = callers.takeContinuation(number) else { return }
    if !caller.hasBegun { caller.answer(result) }
  }

  public func log(_ severity: Severity, _ message: DiagnosticText) { environment.log(severity, message) }
}
