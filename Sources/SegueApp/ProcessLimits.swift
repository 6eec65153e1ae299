// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Synchronization

/// The limits of this process: those of `Limits`, as set by the host.
public enum ProcessLimits {
  /// Raw values are those of SEGUE_LIMIT_... in segue.h.
  public enum Name: Int32, CaseIterable, Sendable {
    case advisedPayload = 1
    case userInfo
    case nesting
    case title
    case type
    case identifier
    case url
    case save
    case continuation
    case saveDelay
    case saveLatest
    case offerUpdate
    case request
    case transferResume

    /// Throws INVALID_ARGUMENT if there is none with this number.
    public init(_ number: Int32) throws(SegueError) {
      guard let name = Name(rawValue: number) else {
        throw SegueError(.invalidArgument, "limit: no such limit: \(number)")
      }
      self = name
    }

    /// The range of the limit; nil if it is fixed.
    public var range: ClosedRange<Int64>? {
      switch self {
      case .userInfo: 1024...Int64(Limits.value)
      case .save: 1...600_000
      case .continuation: 1...3_600_000
      case .saveDelay, .saveLatest, .transferResume: 0...3_600_000
      case .request: 1024...Int64(Limits.value)
      default: nil
      }
    }
  }

  /// Zero if the default holds; otherwise one more than the set value.
  private static let userInfo = Atomic<Int64>(0)
  private static let save = Atomic<Int64>(0)
  private static let continuation = Atomic<Int64>(0)
  private static let saveDelay = Atomic<Int64>(0)
  private static let saveLatest = Atomic<Int64>(0)
  private static let request = Atomic<Int64>(0)
  private static let transferResume = Atomic<Int64>(0)

  /// The current values.
  public static var current: Limits {
    var limits = Limits()
    limits.userInfo = userInfoLimit
    if let set = read(save) { limits.save = set }
    if let set = read(continuation) { limits.continuation = set }
    if let set = read(saveDelay) { limits.saveDelay = set }
    if let set = read(saveLatest) { limits.saveLatest = set }
    if let set = read(request) { limits.request = Int(truncatingIfNeeded: set) }
    if let set = read(transferResume) { limits.transferResume = set }
    return limits
  }

  /// The current limit of encoded user_info, in bytes.
  public static var userInfoLimit: Int { read(userInfo).map(Int.init(truncatingIfNeeded:)) ?? Limits().userInfo }

  public static func get(_ name: Name) -> UInt64 {
    let value: Int64 =
      switch name {
      case .advisedPayload: Int64(Limits.advisedPayload)
      case .userInfo: Int64(userInfoLimit)
      case .nesting: Int64(Limits.nesting)
      case .title: Int64(Limits.title)
      case .type: Int64(Limits.type)
      case .identifier: Int64(Limits.identifier)
      case .url: Int64(Limits.url)
      case .save: current.save
      case .continuation: current.continuation
      case .saveDelay: current.saveDelay
      case .saveLatest: current.saveLatest
      case .offerUpdate: Limits.offerUpdate
      case .request: Int64(current.request)
      case .transferResume: current.transferResume
      }
    return UInt64(clamping: value)
  }

  /// Throws INVALID_ARGUMENT if it is fixed or the value is out of its range.
  public static func set(_ name: Name, to value: UInt64) throws(SegueError) {
    guard let range = name.range else { throw SegueError(.invalidArgument, "limit: \(name.rawValue) cannot be set") }
    guard let number = Int64(exactly: value), range.contains(number) else {
      throw SegueError(
        .invalidArgument, "value: \(value) is not in \(range.lowerBound)...\(range.upperBound)")
    }
    switch name {
    case .userInfo: userInfo.store(number + 1, ordering: .relaxed)
    case .save: save.store(number + 1, ordering: .relaxed)
    case .continuation: continuation.store(number + 1, ordering: .relaxed)
    case .saveDelay: saveDelay.store(number + 1, ordering: .relaxed)
    case .saveLatest: saveLatest.store(number + 1, ordering: .relaxed)
    case .request: request.store(number + 1, ordering: .relaxed)
    case .transferResume: transferResume.store(number + 1, ordering: .relaxed)
    default: break  // Has no range.
    }
  }

  private static func read(_ limit: borrowing Atomic<Int64>) -> Int64? {
    let stored = limit.load(ordering: .relaxed)
    return stored == 0 ? nil : stored - 1
  }
}
