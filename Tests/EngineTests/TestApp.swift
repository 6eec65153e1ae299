// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

@testable import SegueFleet

/// An app of a `World`: its activities, what it was told, and how it answers.
final class TestApp: FleetProgram, AppEngineOwner {
  let process: FleetProcess
  private(set) var engine: AppEngine!
  /// Its callbacks, in a few words each.
  private(set) var events: [String] = []
  private(set) var receipts: [Receipt] = []
  private(set) var continued: [(activity: Activity, from: ContinuedFrom)] = []
  /// The errors of did_fail.
  private(set) var failures: [SegueError] = []
  private(set) var reasons: [Reason] = []
  /// The ends of its own requests, and the requests of others.
  private(set) var answers: [(number: UInt64, bytes: [UInt8], error: SegueError?)] = []
  private(set) var asked: [(number: UInt64, bytes: [UInt8])] = []
  /// The principals that are charged for the streams that it was asked for.
  private(set) var principalsAsking: [Identifier] = []
  private(set) var attachmentsAsked: [Message.AttachmentPart] = []
  private(set) var streamAnswers: [(id: Identifier, error: SegueError?)] = []
  private(set) var streamsThatCame: [Identifier] = []
  private(set) var streamEnds: [StreamStatus] = []

  var containers = Containers.none
  /// The lines of its log.
  private(set) var logs: [String] = []

  // Its behaviour.
  var answersSaves = true
  var answersWillSave = true
  /// The continuations by which activities came.
  var cameBy: [Identifier: Identifier] = [:]
  /// The origins of these continuations.
  var origins: [Identifier: Identifier] = [:]
  /// The states of its own activities that have come back.
  private(set) var resumed: [ResumedState] = []
  /// Inside will_save.
  var onSave: (TestApp) -> Void = { _ in }
  var declineReason: String?
  /// Whether will_continue does not return.
  var holdsAnnouncement = false
  var handles = true
  var restores = true
  var answersContinue = true
  /// The answer to will_resume_back; nil: it comes later.
  var answersResumption: ((_ hasChanged: Bool) -> Bool?)? = { _ in nil }
  var answersRequests = true
  var takesRequests = true
  var takesStreams = true
  /// Whether its files are as they were when they were attached.
  var handsOver = true
  /// The visible state of the ends of its streams.
  var end = StreamStatus.open
  private(set) var pendingSaves: [UInt64] = []
  /// Whom the saves were to ask, by their numbers; nil: the save was given up.
  private(set) var plans: [[UInt64]?] = []
  /// The URLs of documents that they put back.
  private(set) var documentURLs: [String?] = []

  var isBacklogged = false

  /// The manifests of which it was told, in their order (R6.1).
  private(set) var manifests: [AppManifest] = []
  func manifestHolds(_ manifest: AppManifest) {
    manifests.append(manifest)
    events.append("manifest")
  }

  /// The identifiers of the user's folders, each time that they were told (R13.4).
  private(set) var folders: [[String]] = []
  func foldersAre(_ folders: UserFolders) { self.folders.append(folders.list.map { $0.identifier }) }

  /// The deliveries whose callbacks have not run yet.
  private var due: [Delivery] = []
  private var activities: [Identifier: Activity] = [:]
  private var changes: [Identifier: Int64] = [:]
  private var changeCounts: [Identifier: UInt64] = [:]

  init(_ identity: AppIdentity, _ limits: Limits = Limits(), _ savePolicy: SavePolicy, in process: FleetProcess) {
    self.process = process
    engine = AppEngine(identity: identity, limits: limits, savePolicy: savePolicy, owner: self)
    process.begin(self, engine)
  }

  /// Whether it is neither gone nor stopped.
  var isOpen: Bool { process.isAwake }

  /// The host sets its handler for what waits at the agent.
  func acceptDeliveries(_ accepts: Bool = true) { perform { engine, _ in engine.setAcceptsDeliveries(accepts) } }

  /// One end of a new stream; the app has the other.
  func makeStream() -> FleetDescriptor { FleetDescriptor(process.makeSockets().1) }

  func add(_ activity: Activity, as id: Identifier) { activities[id] = activity }

  func change(_ id: Identifier, _ change: (inout Activity) throws -> Void) rethrows {
    try change(&activities[id]!)
    changes[id] = process.now.uptime
    changeCounts[id, default: 0] += 1
    perform { $0.changed(id, $1) }
  }

  var current: Activity? { engine.currentActivity.flatMap { activities[$0] } }

  func invalidate(_ id: Identifier) { activities[id] = nil }

  func takeEvents() -> [String] {
    defer { events = [] }
    return events
  }

  // MARK: FleetProgram

  var activitySource: (any ActivitySource)? { self }

  /// Also once it has closed: its host may call it as long as it holds it.
  func perform(_ call: (AppEngine, Instant) -> Void) {
    if process.engine == nil { call(engine, process.now) } else { process.perform(call) }
  }

  var hasCallbacks: Bool { !due.isEmpty }

  func deliver(_ delivery: Delivery) { due.append(delivery) }

  func runCallbacks() { while !due.isEmpty { run(due.removeFirst()) } }

  func died() {}

  func keep(_ socket: FleetSocket, of request: StreamRequest) {
    principalsAsking.append(request.principal)
    if let part = request.attachment { attachmentsAsked.append(part) }
  }

  private func run(_ delivery: Delivery) {
    switch delivery {
    case .connection(let isReady): events.append(isReady ? "ready" : "searching")
    case .offer(let event, let offer):
      events.append("\(event) \(offer.description.title ?? offer.description.type)")
    case .willSave(_, let save):
      events.append("will_save")
      perform { engine, _ in
        let plan = engine.saveBegan(save)
        plans.append(plan?.responders.map { $0.number })
        documentURLs.append(plan?.documentURL)
      }
      onSave(self)
      if answersSaves { perform { $0.saved(save, $1) } } else { pendingSaves.append(save) }
    case .orphaned(let id):
      var hasEnded = false
      perform { hasEnded = $0.decide(id, $1) }
      if hasEnded {
        events.append("left alone")
        activities[id] = nil
      }
    case .documentChanged(let number): events.append("document \(number) changed")
    case .wasContinued: events.append("was_continued")
    case .continuationEnded(_, let receipt):
      events.append("ended \(receipt.outcome)")
      receipts.append(receipt)
    case .continuation(let id): run(id)
    case .explanation(_, let reasons): self.reasons = reasons
    case .linked(_, let name): events.append("linked with \(name)")
    case .linkEnded(_, let error): events.append("link ended \(error.status)")
    case .answered(let number, let bytes, let error):
      answers.append((number, bytes, error))
    case .requestCame(let number, _, let bytes):
      asked.append((number, bytes))
      if answersRequests { perform { $0.respond(to: number, bytes.reversed(), $1) } }
    case .streamAnswered(let id, let error): streamAnswers.append((id, error))
    case .streamCame(let id, _): streamsThatCame.append(id)
    case .streamEnded(_, let word): streamEnds.append(word)
    case .log(_, let line): logs.append(line.string)
    }
  }

  private func run(_ id: Identifier) {
    var step: ContinuationStep?
    perform { step = $0.step(id, $1) }
    switch step {
    case .willContinue:
      events.append("will_continue")
      if !holdsAnnouncement { perform { $0.announced(id, decline: declineReason, $1) } }
    case .continue(let activity, let from):
      events.append("continue")
      continued.append((activity, from))
      if answersContinue { perform { $0.answer(id, handled: handles, restored: restores, $1) } }
    case .willResumeBack(_, let hasChanged):
      events.append(hasChanged ? "will_resume_back changed" : "will_resume_back")
      if let answer = answersResumption { perform { $0.answerResumption(id, answer(hasChanged), $1) } }
    case .resumedBack(let state):
      resumed.append(state)
      perform { $0.answer(id, handled: true, restored: true, $1) }
    case .didFail(_, let error):
      failures.append(error)
      events.append("did_fail \(error.status)")
    case .openingFailed(_, let error): events.append("opening failed \(error.status)")
    case nil: break
    }
  }

  // MARK: ActivitySource

  func activity(_ id: Identifier) -> Activity? { activities[id] }
  func setNeedsSave(_ needsSave: Bool, of id: Identifier) { activities[id]?.markNeedsSave(needsSave) }
  func lastChange(of id: Identifier) -> Int64 { changes[id] ?? 0 }
  func changeCount(of id: Identifier) -> UInt64 { changeCounts[id] ?? 0 }
  func replace(_ id: Identifier, with state: Activity, ifChangeCountIs count: UInt64?) -> Activity? {
    guard count.map({ $0 == changeCount(of: id) }) ?? true else { return nil }
    activities[id]?.replace(with: state)
    return activities[id]
  }
  func continuation(of id: Identifier) -> Identifier? { cameBy[id] }
  func kept(by continuation: Identifier) -> (activity: Identifier, origin: Identifier)? {
    guard let origin = origins[continuation] else { return nil }
    return cameBy.first { $0.value == continuation }.map { ($0.key, origin) }
  }
  func answersWillSave(_ id: Identifier) -> Bool { answersWillSave }
  func handOver(_ source: AttachmentSource) -> (descriptor: PassedDescriptor, changed: UInt64)? {
    handsOver ? (FleetDescriptor(), 7) : nil
  }
  func takesRequests(_ id: Identifier) -> Bool { takesRequests }
  func takesStreams(_ id: Identifier) -> Bool { takesStreams }
  func streamEnd(_ id: Identifier) -> StreamStatus { end }
}

extension World {
  /// Makes a new activity current.
  func offer(_ title: String, by app: TestApp, type: String = "com.example.note") throws -> Identifier {
    let id = identifier()
    var activity = try Activity(type: type)
    try activity.setTitle(title)
    app.add(activity, as: id)
    tell(app) { $0.becomeCurrent(id, $1) }
    return id
  }

  /// Continues the frontmost offer that an app sees.
  func `continue`(in app: TestApp) throws -> Identifier {
    let id = identifier()
    let offer = app.engine.offers.all[0]
    tell(app) { $0.continue(offer, id: id, timeout: nil, $1) }
    return id
  }
}
