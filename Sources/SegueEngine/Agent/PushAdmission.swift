// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The user's setting for activities that other devices push (R3.15).
public enum PushPolicy: Sendable {
  case ask
  case atOnce
  case never
}

/// Admits or refuses pushes: those of other devices, and those of this one (R3.15).
public enum PushAdmission {
  /// Those that have not begun, of all devices and of one.
  public static let limit = 16
  public static let deviceLimit = 4

  /// Throws DECLINED, LIMIT_EXCEEDED, in words for the user of the other device, whose agent names this one first.
  /// - Parameters:
  ///   - isAttended: somebody is at this device who can be asked.
  ///   - waiting: of each push that has not begun, the device.
  ///   - isRetained: whether that device has kept it for another one (R14.5).
  public static func admit(
    from device: Identifier, _ policy: PushPolicy, isAttended: Bool, waiting: [Identifier], isRetained: Bool = false
  ) throws(SegueError) {
    switch policy {
    case .never: throw SegueError(.declined, "takes nothing that is pushed to it")
    case .ask where !isAttended: throw nobody(isRetained, "no one is there to be asked")
    case .ask, .atOnce: break
    }
    guard waiting.count < limit, waiting.count(where: { $0 == device }) < deviceLimit else {
      throw SegueError(
        .limitExceeded, "\(waiting.count) pushes wait there, of one device at most \(deviceLimit)")
    }
  }

  /// The error for a question that nobody hears, or answers. A push that another device has kept is tried again later
  /// (R14.5): BUSY. Others are over: DECLINED.
  public static func nobody(_ isRetained: Bool, _ text: DiagnosticText) -> SegueError {
    SegueError(isRetained ? .busy : .declined, text)
  }

  /// A device pushes only what it offers itself, over its own link. Throws NOT_FOUND.
  public static func check(_ choice: AppChoice, from device: Identifier) throws(SegueError) {
    guard choice.device == device else {
      throw SegueError(.notFound, "push: that device does not offer it to this one")
    }
  }

  /// This device pushes only what it offers itself, and nothing private (R10.2). Throws NOT_ALLOWED.
  /// - Parameter isPrivateByUser: whether the user keeps a type or an app on this device.
  public static func checkOwn(
    _ choice: AppChoice, _ isPrivateByUser: ((_ type: String, _ bundleIdentifier: String) -> Bool)?
  ) throws(SegueError) {
    guard choice.device == nil else {
      throw SegueError(.notAllowed, "push: another device offers it; only what this device offers can be pushed")
    }
    if choice.offer.description.isPrivate { throw isPrivate }
    if isPrivateByUser?(choice.offer.description.type, choice.offer.bundleIdentifier) ?? false { throw isPrivate }
  }

  /// The error for a private activity: it goes to no other device, so it is not pushed to one.
  public static var isPrivate: SegueError {
    SegueError(.notAllowed, "push: the activity is private, and goes to no other device (R10.2)")
  }
}
