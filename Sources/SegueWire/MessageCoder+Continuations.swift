// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Continuations in messages: their ends, errors, streams and routes.
extension MessageCoder {
  /// An error that there has to be: one with the status ok counts as one with a status of newer peers.
  mutating func code(_ error: SegueError) -> SegueError {
    let (status, message) = code(error.status, error.message)
    guard isReading else { return error }
    return SegueError(status == .ok ? .handoffFailed : status, DiagnosticText(of: message))
  }

  private mutating func code(_ status: Status, _ message: String) -> (Status, String) {
    let number = code(UInt64(status.rawValue))
    let message = code(message, atMost: Limits.title)
    // A status of newer peers still is a failure.
    return (Int32(exactly: number).flatMap { Status(rawValue: $0) } ?? .handoffFailed, message)
  }

  /// Nil for the status ok.
  mutating func code(orOK error: SegueError?) -> SegueError? {
    let (status, message) = code(error?.status ?? .ok, error?.message ?? "")
    guard isReading else { return error }
    return status == .ok ? nil : SegueError(status, DiagnosticText(of: message))
  }

  mutating func code(_ continuation: Message.Continuation) -> Message.Continuation {
    let id = code(continuation.id)
    let origin = code(continuation.origin)
    let activity = code(continuation.activity)
    return isReading ? Message.Continuation(id: id, origin: origin, activity: activity) : continuation
  }

  mutating func code(_ receiver: Receiver?) -> Receiver? {
    guard hasValue(receiver != nil) else { return nil }
    let receiver = receiver ?? Receiver.blank
    enter("a receiver")
    let id = code(receiver.id)
    let deviceName = code(receiver.deviceName)
    let appName = code(receiver.appName)
    let bundleIdentifier = code(receiver.bundleIdentifier)
    leave()
    guard isReading else { return receiver }
    return Receiver(id: id, deviceName: deviceName, appName: appName, bundleIdentifier: bundleIdentifier)
  }

  mutating func code(_ outcome: Outcome) -> Outcome {
    if let coded = Int32(exactly: code(UInt64(outcome.rawValue))).flatMap({ Outcome(rawValue: $0) }) { return coded }
    fail("an outcome")
    return outcome
  }

  mutating func code(_ part: Message.AttachmentPart?) -> Message.AttachmentPart? {
    guard hasValue(part != nil, isLast: true) else { return nil }
    enter("a part of an attachment")
    let name = code(part?.name ?? "")
    let offset = code(part?.offset ?? 0)
    leave()
    return isReading ? Message.AttachmentPart(name: name, offset: offset) : part
  }

  /// Nil for a question.
  mutating func code(_ status: StreamStatus?) -> StreamStatus? {
    switch code(status?.wireNumber ?? 0) {
    case 0: return nil
    case 1: return .open
    case 2: return .ended
    case 3:
      var number: UInt32 = 0
      if case .aborted(let code) = status { number = code }
      return .aborted(code(number, "a code"))
    // A status of newer peers is not a clean end.
    default: return .broken
    }
  }

  mutating func code(_ route: Route?) -> Route? {
    guard hasValue(route != nil) else { return nil }
    enter("a route")
    let sequence = code(route?.sequence ?? 0)
    if isReading, !(1...Route.limit ~= count) { fail("a route of 1 to 16 hubs") }
    let hubs = code(route?.hubs ?? [], blank: .blank) { (coder, hub) in coder.code(hub) }
    leave()
    return Route(hubs, sequence: sequence)
  }
}

extension StreamStatus {
  /// 0 means a question.
  fileprivate var wireNumber: UInt64 {
    switch self {
    case .open: 1
    case .ended: 2
    case .aborted: 3
    case .broken: 4
    }
  }
}
