// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
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
  /// The streams that a test reads and writes in place of the app.
  private var rawStreams: [Identifier: LiveStream] = [:]

  init(
    _ identity: AppIdentity, on device: FleetDevice, offersFrontmostOnly: Bool, _ history: HistoryChecker
  ) throws(SegueError) {
    self.history = history
    super.init(try Self.open(identity, on: device, offersFrontmostOnly: offersFrontmostOnly))
  }

  override func queued(_ delivery: Delivery) {
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
    super.queued(delivery)
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

  // MARK: Streams that a test reads and writes

  /// Asks the origin for a stream. Returns this end.
  func askRawStream(_ id: Identifier, _ from: ContinuedFrom) -> FleetSocket {
    guard let activity = continued(from) else { return process.makeSockets().0 }
    let request = RawStreamRequest(activity)
    draw(id)
    try? activity.askStream(request, timeout: nil)
    rawStreams[id] = request.stream
    return request.stream.flatMap { end(of: $0) }?.socket ?? process.makeSockets().0
  }

  /// The library finds this end closed, and the socket stays.
  func lose(_ id: Identifier) { rawStreams[id].flatMap { end(of: $0) }?.isLost = true }

  private func end(of stream: LiveStream) -> ScriptedStreamEnd? { stream.socket as? ScriptedStreamEnd }

  func askHowEnded(_ id: Identifier) {
    perform { engine, now in
      process.began(.streamEnd(id), deadline: now.uptime + AppEngine.verdictTime)
      engine.askHowEnded(id, now)
    }
  }
}

/// A request for a stream that a test reads and writes.
private final class RawStreamRequest: StreamRequestCallback {
  override func answered(_ activity: LiveActivity, _ stream: LiveStream?, _ error: SharedBox<SegueError>?) {
    _ = try? stream?.open()
  }
}
