// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// An offer that a device wants to have retained (R14.5).
public struct RetainRequest: Sendable {
  /// The identifier of the activity at that device.
  public let activity: Identifier
  /// Rises with each state of what the device offers.
  public let revision: UInt64
  /// As in `RetainedOrigin`.
  public let proof: [UInt8]

  public init(activity: Identifier, revision: UInt64, proof: [UInt8]) {
    (self.activity, self.revision, self.proof) = (activity, revision, proof)
  }

  func value() throws(SegueError) -> Value {
    try .array([.uuid(activity), .unsigned(revision), .data(proof)])
  }

  /// Elements beyond those that are read are ignored: a later version may tell more of them. Throws MALFORMED.
  init(_ value: Value) throws(SegueError) {
    guard let elements = value.elements, elements.count > 2, let activity = elements[0].uuid,
      let revision = elements[1].int64.flatMap({ UInt64(exactly: $0) }), let proof = elements[2].data,
      proof.count == RetainedOrigin.proofSize
    else { throw DeviceMessage.malformed("an offer to retain") }
    self.init(activity: activity, revision: revision, proof: proof)
  }
}

/// An offer that a mailbox has, as it tells its origin.
public struct RetainedState: Sendable, Equatable {
  /// The identifier of the activity at the origin.
  public let activity: Identifier
  public let revision: UInt64

  public init(activity: Identifier, revision: UInt64) { (self.activity, self.revision) = (activity, revision) }

  func value() throws(SegueError) -> Value { try .array([.uuid(activity), .unsigned(revision)]) }

  /// As above.
  init(_ value: Value) throws(SegueError) {
    guard let elements = value.elements, elements.count > 1, let activity = elements[0].uuid,
      let revision = elements[1].int64.flatMap({ UInt64(exactly: $0) })
    else { throw DeviceMessage.malformed("a retained offer") }
    self.init(activity: activity, revision: revision)
  }
}
