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
    let device: Identifier
    /// For people.
    let name: String
    let client: ControlClient
    let deadline: Int64
    let answer: ControlClient.Answer
  }

  private let inbox: any PushInbox
  private let environment: any AgentEnvironment
  /// Sends a message to a device, if it is linked. Set by the owner, as the next one.
  var send: ((DeviceMessage, Identifier) -> Void)?
  /// Called when a deadline has changed.
  var changed: (() -> Void)?
  private var pushes: [Push] = []
  private var lastNumber: UInt64

  /// - Parameter number: before that of the first push.
  init(_ inbox: any PushInbox, after number: UInt64, in environment: any AgentEnvironment) {
    self.inbox = inbox
    self.environment = environment
    lastNumber = number
  }

  /// Drops all pushes without an answer.
  func close() {
    send = nil
    changed = nil
    pushes = []
  }

  /// Asks a linked device to continue an offer of this one.
  /// - Parameters:
  ///   - app: the bundle identifier of the app there; nil: whatever fits.
  ///   - timeout: milliseconds for the answer.
  ///   - privacy: whether an activity is kept off other devices (R10.2); nil if none is.
  ///   - answer: called once: the continuation has begun there, or why not. Not called if the client goes.
  func push(
    _ activity: Identifier, to device: Identifier, _ name: String, app: String?, timeout: Int64?,
    for client: ControlClient,
    privacy: ((_ type: String, _ bundleIdentifier: String) -> Bool)?, _ answer: @escaping ControlClient.Answer
  ) {
    guard pushes.count < Self.limit,
      pushes.count(where: { $0.client.principal == client.principal }) < Self.principalLimit
    else {
      return answer(
        .failure(
          SegueError(
            .limitExceeded,
            "push: \(Self.limit) wait for answers of other devices, or \(Self.principalLimit) of this process")))
    }
    lastNumber += 1
    let (number, timeout) = (lastNumber, timeout ?? Limits.pushAnswer)
    pushes.append(
      Push(
        number: number, device: device, name: name, client: client,
        deadline: environment.uptime + timeout + Self.wayTime,
        answer: answer))
    changed?()
    inbox.look(for: activity, wanted: nil) { [self] result in
      guard pushes.contains(where: { $0.number == number }) else { return }
      do throws(SegueError) {
        try PushAdmission.checkOwn(try result.get(), privacy)
        send?(
          .push(PushRequest(number: number, activity: activity, app: app, milliseconds: timeout)), device)
      } catch {
        end(number, of: device, .failure(error))
      }
    }
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
    for push in pushes where push.client.number == client.number { send?(.withdrawn(push.number), push.device) }
    pushes.removeAll { $0.client.number == client.number }
  }

  private func end(_ number: UInt64, of device: Identifier, _ result: Result<PushAnswer, SegueError>) {
    guard let index = pushes.firstIndex(where: { $0.number == number && $0.device == device }) else { return }
    let push = pushes.remove(at: index)
    push.answer(
      ControlClient.map(result) { answer throws(SegueError) in
        try .dictionary([
          (key: .string("continuation_id"), value: .uuid(answer.continuation)),
          (key: .string("bundle_identifier"), value: .string(answer.bundleIdentifier)),
          (key: .string("app_name"), value: .string(answer.appName)),
        ])
      })
    changed?()
  }

  var nextDeadline: Int64? { pushes.map { $0.deadline }.min() }

  func tick(_ uptime: Int64) {
    while let push = pushes.first(where: { $0.deadline <= uptime }) {
      send?(.withdrawn(push.number), push.device)
      let error = SegueError(
        .remoteApplicationTimedOut, "\(push.name): has not answered; perhaps its Segue is too old for that")
      end(push.number, of: push.device, .failure(error))
    }
  }
}
