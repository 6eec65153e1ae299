// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The pushes of apps of this device to other devices (R3.15), until the other device has answered. For one thread.
public final class OutgoingPushes {
  /// The most at a time, and of one process.
  private static let limit = 16
  private static let principalLimit = limit / Principal.share
  /// Milliseconds for the answer to come back.
  private static let wayTime: Int64 = 2_000

  private struct Push {
    let number: UInt64
    /// The one that answers.
    let device: Identifier
    /// For people.
    let name: String
    let client: ControlClient
    let deadline: Int64
    let answer: (Result<PushAnswer, SegueError>) -> Void
  }

  private let inbox: any PushInbox
  private let environment: any AgentEnvironment
  private let peers: PushPeers
  private var pushes: [Push] = []
  private var lastNumber: UInt64

  /// - Parameter number: before that of the first push.
  init(_ inbox: any PushInbox, _ peers: PushPeers, after number: UInt64, in environment: any AgentEnvironment) {
    (self.inbox, self.peers, self.environment) = (inbox, peers, environment)
    lastNumber = number
  }

  /// Drops all pushes without an answer.
  func close() { pushes = [] }

  /// A push of an app of this device.
  struct Request {
    let activity: Identifier
    /// Milliseconds for the answer; nil: the usual ones.
    let timeout: Int64?
    let client: ControlClient
    /// Whether an activity is kept off other devices (R10.2); nil if none is.
    let privacy: ((_ type: String, _ bundleIdentifier: String) -> Bool)?
    /// Called once: the continuation has begun there, or why not. Not called if the client goes.
    let answer: (Result<PushAnswer, SegueError>) -> Void
  }

  /// Asks a linked device to continue an offer of this one, or to keep it for another.
  /// - Parameters:
  ///   - name: of that device, for people.
  ///   - message: that with its number and milliseconds, made once the activity is there.
  func push(
    _ request: Request, to device: Identifier, _ name: String,
    _ message: @escaping (UInt64, Int64) throws(SegueError) -> DeviceMessage
  ) {
    guard let number = begin(to: device, name, request.timeout, for: request.client, request.answer) else { return }
    inbox.look(for: request.activity, wanted: nil) { [self] result in
      guard pushes.contains(where: { $0.number == number }) else { return }
      do throws(SegueError) {
        try PushAdmission.checkOwn(try result.get(), request.privacy)
        peers.send(try message(number, request.timeout ?? Limits.pushAnswer), to: device)
      } catch {
        end(number, of: device, .failure(error))
      }
    }
  }

  /// Tells a linked device of a push that this one has kept for it (R14.5).
  /// - Parameters:
  ///   - push: the identifier of its offer.
  ///   - origin: the device that is charged for it.
  func deliver(
    _ push: Identifier, of origin: Identifier, to device: Identifier, _ name: String,
    _ answer: @escaping (Result<PushAnswer, SegueError>) -> Void
  ) {
    let client = ControlClient(number: .max, principal: .device(origin))
    guard let number = begin(to: device, name, Limits.longestAsk, for: client, answer) else { return }
    peers.send(.deliverPush(number: number, push, milliseconds: Limits.longestAsk), to: device)
  }

  /// - Returns: its number; nil if there are too many, and it is answered.
  private func begin(
    to device: Identifier, _ name: String, _ timeout: Int64?, for client: ControlClient,
    _ answer: @escaping (Result<PushAnswer, SegueError>) -> Void
  ) -> UInt64? {
    guard pushes.count < Self.limit,
      pushes.count(where: { $0.client.principal == client.principal }) < Self.principalLimit
    else {
      answer(
        .failure(
          SegueError(
            .limitExceeded,
            "push: \(Self.limit) wait for answers of other devices, or \(Self.principalLimit) of this process")))
      return nil
    }
    lastNumber += 1
    pushes.append(
      Push(
        number: lastNumber, device: device, name: name, client: client,
        deadline: environment.uptime + (timeout ?? Limits.pushAnswer) + Self.wayTime, answer: answer))
    peers.deadlineChanged()
    return lastNumber
  }

  /// A device has answered.
  func answered(_ number: UInt64, by device: Identifier, _ result: Result<PushAnswer, SegueError>) {
    let name = pushes.first { $0.number == number }?.name ?? ""
    end(number, of: device, result.mapError { $0.about(name) })
  }

  /// Only these devices are linked: others cannot answer.
  func keep(_ linked: [Identifier]) {
    for push in pushes where !linked.contains(push.device) {
      let error = SegueError(
        .connectionUnavailable, "\(push.name): the link ended before it answered; it may have begun there")
      end(push.number, of: push.device, .failure(error))
    }
  }

  /// The client has gone: the other device need not ask its user any longer.
  func abandon(_ client: ControlClient) {
    for push in pushes where push.client.number == client.number {
      peers.send(.withdrawn(push.number), to: push.device)
    }
    pushes.removeAll { $0.client.number == client.number }
  }

  private func end(_ number: UInt64, of device: Identifier, _ result: Result<PushAnswer, SegueError>) {
    guard let index = pushes.firstIndex(where: { $0.number == number && $0.device == device }) else { return }
    pushes.remove(at: index).answer(result)
    peers.deadlineChanged()
  }

  var nextDeadline: Int64? { pushes.map { $0.deadline }.min() }

  func tick(_ uptime: Int64) {
    while let push = pushes.first(where: { $0.deadline <= uptime }) {
      peers.send(.withdrawn(push.number), to: push.device)
      let error = SegueError(
        .remoteApplicationTimedOut, "\(push.name): has not answered; perhaps its Segue is too old for that")
      end(push.number, of: push.device, .failure(error))
    }
  }
}
