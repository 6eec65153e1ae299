// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The questions of apps to the agent at their hub: to save activities for search, and to delete saved ones (R8.1,
/// R8.2). Each is a request that names the agent as the activity.
final class SavedChanges: AppFeature {
  /// The most questions of all apps, of those of one process a quarter, and the most bytes that have arrived of theirs.
  static let limit = 512
  static let principalLimit = limit / Principal.share
  static let bytes = 64 * 1024 * 1024

  private struct Question {
    enum Phase {
      case receiving(FramedConnection.Channel)
      /// The disk has it.
      case storing
    }

    let number: UInt64
    let requestersNumber: UInt64
    let continuation: Message.Continuation
    let app: AppIdentity
    /// The principal that the hub charges for it.
    let principal: Identifier
    /// The announced bytes.
    let size: Int
    /// The uptime by which the app gives up.
    let deadline: Int64
    var phase: Phase
    var bytes: [UInt8] = []

    var isReceiving: Bool { if case .receiving = phase { true } else { false } }
  }

  private let agent: AgentContext
  private let hub: HubConnection
  private let deliveries: InboxDeliveries
  private var questions: [Question] = []
  private var quota = SaveQuota()

  init(_ agent: AgentContext, _ hub: HubConnection, _ deliveries: InboxDeliveries) {
    self.agent = agent
    self.hub = hub
    self.deliveries = deliveries
  }

  /// Whether a request is for the agent itself, and not for an activity that waited in the inbox.
  func isMeant(_ continuation: Message.Continuation) -> Bool { continuation.activity == agent.app.identity.id }

  // MARK: Questions

  func receive(
    _ number: UInt64, _ continuation: Message.Continuation, from id: Identifier, milliseconds: Int64,
    channel: FramedConnection.Channel, size: UInt64, _ now: Instant
  ) throws(SegueError) {
    guard let link = hub.link else { return }
    try link.accept(channel)
    do throws(SegueError) {
      let (app, principal, size) = try admit(id, size)
      questions.append(
        Question(
          number: agent.app.takeNumber(), requestersNumber: number, continuation: continuation, app: app,
          principal: principal,
          size: size, deadline: now.uptime + min(milliseconds, agent.limits.continuation), phase: .receiving(channel)))
    } catch {
      link.reset(channel)
      hub.send(.response(number, continuation, to: id, channel: 0, size: 0, error))
    }
  }

  private func admit(_ id: Identifier, _ size: UInt64) throws(SegueError) -> (AppIdentity, Identifier, Int) {
    guard let (app, principal) = deliveries.app(id) else {
      throw SegueError(.declined, "the agent keeps nothing for choosers")
    }
    guard let size = Int(exactly: size), size <= Limits.value else {
      throw SegueError(.limitExceeded, "\(size) bytes, at most \(Limits.value) can be saved for search")
    }
    let own = questions.count { $0.principal == principal }
    guard questions.count < Self.limit, own < Self.principalLimit else { throw Self.busy }
    return (app, principal, size)
  }

  private static var busy: SegueError { SegueError(.busy, "the agent is busy") }

  func received(_ bytes: ArraySlice<UInt8>, on channel: FramedConnection.Channel) {
    guard let index = receiving(on: channel) else { return }
    questions[index].bytes.append(contentsOf: bytes)
    if questions[index].bytes.count > questions[index].size { fail(at: index, Self.notAsAnnounced) }
    // Only received bytes count against the limit, not announced ones.
    while questions.reduce(0, { $0 + $1.bytes.count }) > Self.bytes,
      let largest = questions.indices.max(by: { questions[$0].bytes.count < questions[$1].bytes.count })
    {
      fail(at: largest, Self.busy)
    }
  }

  /// A change that has arrived whole is stored, even if its app has ended meanwhile.
  func receivedEnd(of channel: FramedConnection.Channel, _ now: Instant) {
    guard let index = receiving(on: channel) else { return }
    let question = questions[index]
    do throws(SegueError) {
      guard question.bytes.count == question.size else { throw Self.notAsAnnounced }
      let change = try SavedChange(question.bytes)
      if case .save = change, !quota.take(question.principal, now) {
        throw SegueError(.busy, "the agent stores ten activities a second of a process")
      }
      questions[index].phase = .storing
      questions[index].bytes = []
      agent.owner.change(change, of: question.app, principal: question.principal, question.number)
    } catch {
      fail(at: index, error)
    }
  }

  func receivedReset(of channel: FramedConnection.Channel) {
    guard let index = receiving(on: channel) else { return }
    questions.remove(at: index)
  }

  private static var notAsAnnounced: SegueError {
    SegueError(.handoffFailed, "the app sent more or less than it announced")
  }

  // MARK: Answers

  /// The disk has made a change; `count`: to how many saved activities.
  func changed(_ number: UInt64, _ result: Result<Int, SegueError>) {
    guard let index = questions.firstIndex(where: { $0.number == number }) else { return }
    do throws(SegueError) {
      let answer = try Value.dictionary([(key: .string("count"), value: .integer(Int64(try result.get())))]).encoding
      guard let link = hub.link, link.openCount < FramedConnection.channelLimit else {
        throw Self.busy
      }
      let question = questions.remove(at: index)
      let channel = link.open()
      hub.send(
        .response(
          question.requestersNumber, question.continuation, to: question.app.id, channel: channel,
          size: UInt64(answer.count), nil))
      link.write(answer[...], to: channel)
      link.finish(channel)
    } catch {
      fail(at: index, error)
    }
  }

  private func fail(at index: Int, _ error: SegueError) {
    let question = questions.remove(at: index)
    if case .receiving(let channel) = question.phase { hub.link?.reset(channel) }
    hub.send(
      .response(question.requestersNumber, question.continuation, to: question.app.id, channel: 0, size: 0, error))
  }

  // MARK: Life cycle

  /// The apps ask again through the next hub.
  func disconnected(_ now: Instant) { questions = [] }

  func tick(_ now: Instant) {
    while let index = questions.firstIndex(where: { $0.isReceiving && $0.deadline <= now.uptime }) {
      fail(at: index, SegueError(.remoteApplicationTimedOut, "the question did not arrive in time"))
    }
  }

  var nextDeadline: Int64? {
    var next: Int64?
    for question in questions where question.isReceiving { next = earlier(next, question.deadline) }
    return next
  }

  var brokenInvariant: StaticString? { questions.count > Self.limit ? "agent: too many questions" : nil }

  private func receiving(on channel: FramedConnection.Channel) -> Int? {
    questions.firstIndex { if case .receiving(channel) = $0.phase { true } else { false } }
  }
}
