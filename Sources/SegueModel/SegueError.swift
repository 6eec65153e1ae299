// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The causes of errors. Raw values are those of `segue_status` in segue.h.
public enum Status: Int32, Sendable, CaseIterable {
  case ok = 0
  case invalidArgument = 1
  case invalidHandle = 2
  case invalidURL = 3
  case invalidState = 4
  case invalidated = 5
  case unsupportedValue = 6
  case malformed = 7
  case notFound = 8
  case wrongKind = 9
  case limitExceeded = 10
  case busy = 11
  case forked = 12
  case system = 13
  case unsafeFolder = 14
  case cancelled = 15
  case declined = 16
  case unsupportedVersion = 17
  case notThereYet = 18
  case notAllowed = 19
  case handoffFailed = 20
  case connectionUnavailable = 21
  case remoteApplicationTimedOut = 22
  case userInfoTooLarge = 23
  case userCancelled = 24

  /// The number in Apple's NSCocoaErrorDomain, 0 if there is none (R3.11).
  public var foundationCode: Int32 {
    switch self {
    case .handoffFailed: 4608
    case .connectionUnavailable: 4609
    case .remoteApplicationTimedOut: 4610
    case .userInfoTooLarge: 4611
    case .userCancelled: 3072
    default: 0
    }
  }
}

/// An error with one line that names the cause. A class, because an error is one word then on its way through all that
/// it passes.
public final class SegueError: Error, Sendable, Equatable {
  public let status: Status
  public let message: String

  @inline(never)
  @_disfavoredOverload
  public init(_ status: Status, _ message: DiagnosticText) {
    self.status = status
    self.message = message.string
  }

  @inline(__always)
  public convenience init(_ status: Status, _ message: StaticString) {
    self.init(status, message.utf8Start, message.utf8CodeUnitCount)
  }

  @inline(never)
  private init(_ status: Status, _ start: UnsafePointer<UInt8>, _ count: Int) {
    self.status = status
    message = Text.decoded(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// The same about another device, which the message names first: a user with several learns whose error it is.
  public func about(_ device: String) -> SegueError { SegueError(status, "\(device): \(message)") }

  public static func == (left: SegueError, right: SegueError) -> Bool {
    left.status == right.status && Text.isSame(left.message, right.message)
  }
}
