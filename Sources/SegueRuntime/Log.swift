// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem
import SegueTransport
import Synchronization

/// The target of log lines besides standard error. `write` runs without a lock, on any thread.
open class LogTarget {
  public init() {}
  /// Writes one line of UTF-8, with a NUL after its length.
  open func write(_ level: Log.Level, _ message: UnsafePointer<CChar>, _ length: Int) {}
}

/// The process's log: the host's target, and standard error if SEGUE_LOG asks for it. Initially none.
public enum Log {
  public typealias Level = Severity

  /// The most verbose level in use; 0 if none is.
  private static let most = Atomic<Int32>(0)
  private static let lock = Lock()
  /// Everything below is guarded by `lock`.
  nonisolated(unsafe) private static var target: LogTarget?
  nonisolated(unsafe) private static var targetMost: Int32 = 0
  nonisolated(unsafe) private static var environmentMost: Int32 = 0
  /// The limits of errors and of other lines on standard error; nil: no limit. Debug lines have no limit.
  nonisolated(unsafe) private static var limiters: (errors: LogLimiter, others: LogLimiter)?

  /// Whether a line of this level is written: check this before building a costly message.
  public static func isOn(_ level: Level) -> Bool { level.rawValue <= most.load(ordering: .relaxed) }

  public static func error(_ message: DiagnosticText) { write(.error, message) }
  public static func info(_ message: DiagnosticText) { write(.info, message) }
  public static func debug(_ message: DiagnosticText) { write(.debug, message) }

  /// Writes one line.
  public static func write(_ level: Level, _ message: DiagnosticText) {
    guard isOn(level) else { return }
    let message = message.string
    let (target, leftOut) = lock.withLock {
      (level.rawValue <= targetMost ? Self.target : nil, level.rawValue <= environmentMost ? takeLine(level) : nil)
    }
    if let leftOut {
      if leftOut > 0 { writeLine(level, "\(leftOut) lines were left out here") }
      writeLine(level, message)
    }
    if let target {
      var line = Text.oneLine(message)
      line.append(0)
      line.withUnsafeMutableBytes { bytes in
        guard let start = bytes.baseAddress else { return }
        target.write(level, UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self), bytes.count - 1)
      }
    }
    // If it was replaced meanwhile, it is released here, without a lock.
    withExtendedLifetime(target) {}
  }

  private static func writeLine(_ level: Level, _ message: String) {
    var line = Text.oneLine(String(joining: "segue: \(name(level)): \(message)")) + [0x0A]
    line.withUnsafeMutableBytes { bytes in _ = CLinux.write(2, bytes.baseAddress, bytes.count) }
  }

  /// Called with the lock.
  /// - Returns: how many lines were left out before this one; nil if it is left out, too.
  private static func takeLine(_ level: Level) -> Int? {
    switch level {
    case _ where limiters == nil: 0
    case .error: limiters?.errors.take(Clock.now)
    case .info: limiters?.others.take(Clock.now)
    case .debug: 0
    }
  }

  /// From now on errors and other lines to standard error are 64 each at once, and then one a second: peers cause them,
  /// and cannot fill a disk.
  public static func bound() { lock.withLock { limiters = (LogLimiter(), LogLimiter()) } }

  /// Replaces the target; the former one is released when no thread is in it.
  public static func set(_ target: LogTarget?, atMost level: Level) {
    let former = lock.withLock {
      defer {
        Self.target = target
        targetMost = target == nil ? 0 : level.rawValue
        most.store(max(targetMost, environmentMost), ordering: .relaxed)
      }
      return Self.target
    }
    // The host's function destroys its context, so this happens without the lock.
    withExtendedLifetime(former) {}
  }

  /// Reads SEGUE_LOG; called once, before anything can be logged.
  /// - Parameter usual: the level without the variable.
  public static func readEnvironment(default usual: Level? = nil) {
    let levels: [Level] = [.error, .info, .debug]
    // A program with more rights than its user does not write what its user wants.
    let word = Environment.variable("SEGUE_LOG")
    let named = levels.first { Text.isSame(word, name($0)) }
    guard let level = named ?? usual else { return }
    lock.withLock {
      environmentMost = level.rawValue
      most.store(max(targetMost, environmentMost), ordering: .relaxed)
    }
  }

  static func lockForFork() { lock.lock() }
  static func unlockAfterFork() { lock.unlock() }

  private static func name(_ level: Level) -> String {
    switch level {
    case .error: "error"
    case .info: "info"
    case .debug: "debug"
    }
  }
}
