// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The pushes of other devices to this one (R3.15): continued at once, once its user agrees, or never. For one thread.
public final class IncomingPushes {
  /// A push that has not begun.
  private struct Push {
    /// For the user.
    let id: Identifier
    let device: Identifier
    let request: PushRequest
    /// The identifier of the activity on this device.
    let activity: Identifier
    /// Whether that device has kept it for another one (R14.5).
    let isRetained: Bool
    let received: Double
    let deadline: Int64
    /// Set while the user is asked: the offer, and the app that would continue it.
    var question: (offer: Offer, app: ChosenApp)?
    /// Whether it is accepted, and begins.
    var isAccepted = false
    /// The origin, if another device has kept it: its hub has shown that.
    var retained: RetainedOrigin?

    /// The disk remembers that of each activity; nil: an older device has told none.
    var mark: PushMark? {
      if let retained {
        return PushMark(device: retained.device, activity: retained.activity, number: retained.revision)
      }
      return request.order.map { PushMark(device: device, activity: request.activity, number: $0) }
    }
  }

  private let inbox: any PushInbox
  private let environment: any AgentEnvironment
  /// The clients that wait for pushes, to ask the user.
  private let watchers: StateWatchers
  private let peers: PushPeers
  private var pushes: [Push] = []

  init(
    _ inbox: any PushInbox, _ watchers: StateWatchers, _ peers: PushPeers, in environment: any AgentEnvironment
  ) {
    (self.inbox, self.watchers, self.peers, self.environment) = (inbox, watchers, peers, environment)
  }

  /// Drops all pushes: asks and answers nothing afterwards.
  func close() { pushes = [] }

  // MARK: From other devices

  /// - Parameter device: as its certificate says.
  func receive(_ request: PushRequest, from device: Identifier, _ policy: PushPolicy) {
    receive(request, isRetained: false, from: device, policy)
  }

  /// A device has kept a push for this one (R14.5).
  /// - Parameter push: the identifier of its offer.
  func receive(
    _ push: Identifier, _ number: UInt64, milliseconds: Int64, from device: Identifier, _ policy: PushPolicy
  ) {
    receive(
      PushRequest(number: number, activity: push, app: nil, milliseconds: milliseconds), isRetained: true,
      from: device, policy)
  }

  private func receive(
    _ request: PushRequest, isRetained: Bool, from device: Identifier, _ policy: PushPolicy
  ) {
    guard !pushes.contains(where: { $0.device == device && $0.request.number == request.number }) else { return }
    do throws(SegueError) {
      let push = try begin(request, isRetained: isRetained, from: device, policy)
      inbox.look(for: push.activity, wanted: request.app) { [self] result in found(push.id, result, policy) }
      publish()
    } catch {
      answer(request, of: device, .failure(error))
    }
  }

  private func begin(
    _ request: PushRequest, isRetained: Bool, from device: Identifier, _ policy: PushPolicy
  ) throws(SegueError) -> Push {
    let now = environment.now
    try PushAdmission.admit(
      from: device, policy, isAttended: watchers.isAttended(now.uptime), waiting: pushes.map { $0.device },
      isRetained: isRetained)
    let push = Push(
      id: try environment.drawIdentifier(), device: device, request: request,
      activity: isRetained ? request.activity : Identifier(of: request.activity, onDevice: device),
      isRetained: isRetained, received: now.date,
      deadline: now.uptime + request.milliseconds)
    pushes.append(push)
    return push
  }

  /// The offer is here, or has not come.
  private func found(_ id: Identifier, _ result: Result<AppChoice, SegueError>, _ policy: PushPolicy) {
    guard let index = pushes.firstIndex(where: { $0.id == id }) else { return }
    guard pushes[index].isRetained else { return ask(id, result, policy) }
    do throws(SegueError) {
      guard case .success(let choice) = result, choice.device == pushes[index].device,
        let retained = choice.retained, let push = retained.push
      else { throw SegueError(.busy, "push: the offer has not come") }
      pushes[index].retained = retained
      guard let mark = pushes[index].mark else { return }
      inbox.hasTaken(mark) { [self] taken in
        switch taken {
        case .success(false): ask(id, inbox.choice(for: retained.identifier, wanted: push.app), policy)
        case .success(true): end(id, .failure(SegueError(.invalidState, "has had it, or a later one")))
        case .failure(let error): end(id, .failure(SegueError(.busy, "\(error.message)")))
        }
      }
    } catch {
      end(id, .failure(error))
    }
  }

  private func ask(_ id: Identifier, _ result: Result<AppChoice, SegueError>, _ policy: PushPolicy) {
    guard let index = pushes.firstIndex(where: { $0.id == id }) else { return }
    do throws(SegueError) {
      let app = try check(pushes[index], result)
      // The user has agreed to what apps continue, and not to programs that open whatever the other device names.
      guard policy == .ask || app.form.startsProgram else { return start(id, []) { _ in } }
      guard watchers.isAttended(environment.now.uptime) else {
        throw PushAdmission.nobody(pushes[index].isRetained, "no one is there to be asked")
      }
      pushes[index].question = (try result.get().offer, app)
      environment.log(.info, "push: the user is asked whether \(app.name) continues an activity of another device")
      publish()
    } catch {
      end(id, .failure(error))
    }
  }

  /// Only what the device itself offers, and an app can continue. Throws NOT_FOUND, and why.
  private func check(_ push: Push, _ result: Result<AppChoice, SegueError>) throws(SegueError) -> ChosenApp {
    let choice = try result.get()
    try PushAdmission.check(choice, from: push.device)
    return try inbox.choose(choice)
  }

  /// The other device no longer waits.
  func withdrawn(_ number: UInt64, by device: Identifier) {
    drop { $0.device == device && $0.request.number == number }
  }

  /// An offer is over: its app has ended it, or is gone. Those that wait for the answer are told.
  func gone(_ activity: Identifier) {
    // It may be offered again, of another type, say.
    if case .success = inbox.choice(for: activity, wanted: nil) { return }
    for push in pushes where push.activity == activity && push.question != nil && !push.isAccepted {
      end(push.id, .failure(SegueError(push.isRetained ? .busy : .notFound, "push: the activity is no longer offered")))
    }
  }

  /// Only these devices are linked: the offers of others are gone.
  func keep(_ linked: [Identifier]) { drop { !linked.contains($0.device) } }

  private func drop(_ isOver: (Push) -> Bool) {
    guard pushes.contains(where: { isOver($0) && !$0.isAccepted }) else { return }
    pushes.removeAll { isOver($0) && !$0.isAccepted }
    publish()
  }

  // MARK: The user

  /// Answers once the app is chosen, or the push is declined. Throws NOT_FOUND.
  public func answer(
    _ id: Identifier, isAccepted: Bool, _ variables: [LaunchVariable], _ answer: @escaping ControlClient.Answer
  ) throws(SegueError) {
    guard let push = pushes.first(where: { $0.id == id }), let question = push.question, !push.isAccepted else {
      throw SegueError(.notFound, "push: it is not asked about, or not any longer")
    }
    guard isAccepted else {
      if let mark = push.mark { inbox.noteTaken(mark) }
      end(id, .failure(SegueError(.declined, "its user has declined")))
      return answer(.success(.emptyDictionary))
    }
    // It may have gone meanwhile, be another device's, or be of another type than the one that the user was shown.
    do throws(SegueError) {
      let choice = inbox.choice(for: push.activity, wanted: question.app.bundleIdentifier)
      _ = try check(push, choice)
      guard Text.isSame(try choice.get().offer.description.type, question.offer.description.type) else {
        throw SegueError(.notFound, "push: the activity has another type now; it is to be asked for again")
      }
    } catch {
      end(id, .failure(error))
      throw error
    }
    start(id, variables) { result in answer(ControlClient.map(result) { _ in .emptyDictionary }) }
  }

  private func start(
    _ id: Identifier, _ variables: [LaunchVariable],
    _ done: @escaping (Result<PushAnswer, SegueError>) -> Void
  ) {
    guard let index = pushes.firstIndex(where: { $0.id == id }) else { return }
    pushes[index].isAccepted = true
    let push = pushes[index]
    let finish: (Result<PushAnswer, SegueError>) -> Void = { [self] result in
      end(id, result)
      done(result)
    }
    inbox.continue(
      // The user has agreed to this app.
      push.activity, app: push.question?.app.bundleIdentifier ?? push.retained?.push?.app ?? push.request.app,
      timeout: nil, environment: variables,
      for: ControlClient(number: .max, principal: .device(push.retained?.device ?? push.device)),
      retained: push.retained == nil ? nil : push.mark,
      began: { [inbox] continuation, app, _ in
        // The disk gets that of a retained one with its entry.
        if push.retained == nil, let mark = push.mark { inbox.noteTaken(mark) }
        finish(
          .success(
            PushAnswer(continuation: continuation, bundleIdentifier: app.bundleIdentifier, appName: app.name)))
      }
    ) { result in
      if case .failure(let error) = result { finish(.failure(error)) }
    }
    publish()
  }

  private func end(_ id: Identifier, _ result: Result<PushAnswer, SegueError>) {
    guard let index = pushes.firstIndex(where: { $0.id == id }) else { return }
    let push = pushes.remove(at: index)
    answer(push.request, of: push.device, result)
    publish()
  }

  private func answer(_ request: PushRequest, of device: Identifier, _ result: Result<PushAnswer, SegueError>) {
    peers.send(.pushed(request.number, result), to: device)
  }

  /// Tells the clients that wait, if there is something new, and the owner that a deadline may have changed.
  func publish() {
    do throws(SegueError) {
      try watchers.publish(try entries())
    } catch {
      environment.log(.error, "pushes: \(error.message)")
    }
    peers.deadlineChanged()
  }

  /// The entries of the pushes about which the user is asked.
  private func entries() throws(SegueError) -> [(key: Value, value: Value)] {
    var list: [Value] = []
    for push in pushes where !push.isAccepted {
      guard let (offer, app) = push.question else { continue }
      let deadline = push.received + Double(push.request.milliseconds) / 1000
      var entries: [(key: Value, value: Value)] = [
        (key: .string("push"), value: .uuid(push.id)),
        (key: .string("device"), value: .uuid(push.retained?.device ?? push.device)),
        (
          key: .string("device_name"),
          value: .string(
            push.isRetained ? offer.deviceName : peers.name(of: push.device) ?? "a device of the account")
        ),
        (key: .string("activity_id"), value: .uuid(offer.description.id)),
        (key: .string("type"), value: .string(offer.description.type)),
        (key: .string("app_name"), value: .string(offer.appName)),
        (key: .string("bundle_identifier"), value: .string(app.bundleIdentifier)),
        (key: .string("receiver_name"), value: .string(app.name)),
        (key: .string("received"), value: try .date(push.received)),
        (key: .string("expires"), value: try .date(deadline)),
      ]
      if let title = offer.description.title { entries.append((key: .string("title"), value: .string(title))) }
      list.append(try .dictionary(entries))
    }
    return [(key: .string("pushes"), value: try .array(list))]
  }

  // MARK: Time

  var nextDeadline: Int64? {
    pushes.filter { !$0.isAccepted }.map { $0.deadline }.min()
  }

  func tick(_ uptime: Int64) {
    while let push = pushes.first(where: { !$0.isAccepted && $0.deadline <= uptime }) {
      end(push.id, .failure(PushAdmission.nobody(push.isRetained, "no one there has answered")))
    }
  }
}
