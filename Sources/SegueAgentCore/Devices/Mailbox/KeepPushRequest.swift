// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A request to keep a push of the device that asks for another one (R3.15, R14.5).
public struct KeepPushRequest: Sendable {
  /// The number of the push at the device that asks, at most 2^63 - 1.
  public let number: UInt64
  /// The identifier of the activity at that device.
  public let activity: Identifier
  /// Rises with each push of the device.
  public let order: UInt64
  public let push: RetainedPush
  /// As in `RetainedOrigin`.
  public let proof: [UInt8]

  public init(number: UInt64, activity: Identifier, order: UInt64, push: RetainedPush, proof: [UInt8]) {
    (self.number, self.activity, self.order, self.push, self.proof) = (number, activity, order, push, proof)
  }

  func origin(_ device: Identifier) -> RetainedOrigin {
    RetainedOrigin(device: device, activity: activity, revision: order, push: push, proof: proof)
  }

  /// Those of its message, behind the kind.
  var elements: [Value] {
    [
      .unsigned(number), .uuid(activity), .unsigned(order), .uuid(push.id), .uuid(push.target),
      push.app.map { .string($0) } ?? .null, .data(proof),
    ]
  }

  /// - Parameter elements: of the message, its kind and number among them. Throws MALFORMED.
  init(_ number: UInt64, _ elements: [Value]) throws(SegueError) {
    guard elements.count > 7, let activity = elements[2].uuid,
      let order = elements[3].int64.flatMap({ UInt64(exactly: $0) }), let id = elements[4].uuid,
      let target = elements[5].uuid, let proof = elements[7].data, proof.count == RetainedOrigin.proofSize
    else { throw DeviceMessage.malformed("a push to keep") }
    var app: String?
    if elements[6].kind != .null { app = try DeviceMessage.text(elements[6], "the app", atMost: Limits.identifier) }
    self.init(
      number: number, activity: activity, order: order, push: RetainedPush(id: id, target: target, app: app),
      proof: proof)
  }
}

/// A push that a mailbox keeps, as it tells its origin.
public struct KeptPushState: Sendable, Equatable {
  public let id: Identifier
  /// The identifier of the activity at the origin.
  public let activity: Identifier
  public let target: Identifier

  public init(id: Identifier, activity: Identifier, target: Identifier) {
    (self.id, self.activity, self.target) = (id, activity, target)
  }

  func value() throws(SegueError) -> Value { try .array([.uuid(id), .uuid(activity), .uuid(target)]) }

  /// Elements beyond those that are read are ignored. Throws MALFORMED.
  init(_ value: Value) throws(SegueError) {
    guard let elements = value.elements, elements.count > 2, let id = elements[0].uuid,
      let activity = elements[1].uuid, let target = elements[2].uuid
    else { throw DeviceMessage.malformed("a push that is kept") }
    self.init(id: id, activity: activity, target: target)
  }
}
