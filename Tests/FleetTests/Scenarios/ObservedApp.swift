import SegueEngine
import SegueModel

@testable import SegueFleet

/// A scripted app that reports to the checker of its workload's history.
final class ObservedApp: ScriptedApp {
  private let history: HistoryChecker
  /// The events of the links that it has asked for, in a few words each.
  private(set) var linkEvents: [String] = []
  /// The result of the last link that it has asked for.
  private(set) var linkedWith: String?
  private(set) var linkEnd: SegueError?
  private(set) var saveCount = 0
  /// The last explanation; nil while it waits for one.
  private(set) var reasons: [Reason]?
  private(set) var lastContinued: ContinuedFrom?
  /// The errors of continuations and resumptions.
  private(set) var failures: [SegueError] = []
  /// The reported ends of streams, latest last.
  var streamEnds: [StreamStatus] = []
  /// The results of the streams that it has asked for.
  private(set) var streamAnswers: [SegueError?] = []
  /// The local ends of streams that a test reads and writes in place of the app.
  var ends: [Identifier: StreamStatus] = [:]

  init(
    _ identity: AppIdentity, on device: FleetDevice, offersFrontmostOnly: Bool, _ history: HistoryChecker
  ) throws(SegueError) {
    self.history = history
    super.init(identity, in: try device.start(identity.name, offersFrontmostOnly: offersFrontmostOnly))
  }

  override func deliver(_ delivery: Delivery) {
    switch delivery {
    case .linked(_, let name):
      linkedWith = name
      linkEvents.append("linked with \(name)")
    case .linkEnded(_, let error):
      linkEnd = error
      linkEvents.append("ended \(error.status)")
    case .willSave: saveCount += 1
    case .explanation(_, let reasons): self.reasons = reasons
    case .streamAnswered(_, let error): streamAnswers.append(error)
    case .streamEnded(_, let status): streamEnds.append(status)
    default: break
    }
    super.deliver(delivery)
  }

  override func observe(_ event: HistoryEvent) {
    if case .step(.continue(_, let from), _) = event { lastContinued = from }
    if case .step(.didFail(_, let error), _) = event { failures.append(error) }
    process.complain(history.violation(by: event, at: self))
  }

  override func explain(_ index: Int) {
    reasons = nil
    super.explain(index)
  }

  @discardableResult override func ask(_ link: DeviceLink?) -> UInt64 {
    (linkedWith, linkEnd) = (nil, nil)
    return super.ask(link)
  }

  override func streamEnd(_ id: Identifier) -> StreamStatus {
    ends[id] ?? super.streamEnd(id)
  }

  // MARK: Streams that a test reads and writes

  /// Asks the origin for a stream. Returns this end.
  func askRawStream(_ id: Identifier, _ from: ContinuedFrom) -> FleetSocket {
    let (near, far) = process.makeSockets()
    ends[id] = .open
    perform { engine, now in
      process.began(.stream(id), deadline: now.uptime + engine.limits.continuation)
      engine.askStream(id, from, attachment: nil, otherEnd: FleetDescriptor(far), timeout: nil, now)
    }
    return near
  }

  func askHowEnded(_ id: Identifier) {
    perform { engine, now in
      process.began(.streamEnd(id), deadline: now.uptime + AppEngine.verdictTime)
      engine.askHowEnded(id, now)
    }
  }
}
