// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 1 of segue.h: basics.
import CLinux
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

@_cdecl("segue_version") @implementation
public func segue_version() -> UInt32 { UInt32(SEGUE_VERSION) }

@_cdecl("segue_status_name") @implementation
public func segue_status_name(_ status: segue_status) -> UnsafePointer<CChar>? {
  let name: StaticString = Status(rawValue: status)?.name ?? "UNKNOWN"
  return UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
}

@_cdecl("segue_status_foundation_code") @implementation
public func segue_status_foundation_code(_ status: segue_status) -> Int32 {
  Status(rawValue: status)?.foundationCode ?? 0
}

@_cdecl("segue_last_error") @implementation
public func segue_last_error(_ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int) -> segue_status {
  // A capacity over PTRDIFF_MAX is negative here; no message is that long.
  LastError.copy(to: buffer, capacity: capacity < 0 ? Int.max : capacity)
}

@_cdecl("segue_free") @implementation
public func segue_free(_ memory: UnsafeMutableRawPointer?) { free(memory) }

@_cdecl("segue_retain") @implementation
public func segue_retain(_ handle: UnsafeRawPointer?) -> segue_status {
  handles.retain(handle.map { OpaquePointer($0) })
}

@_cdecl("segue_release") @implementation
public func segue_release(_ handle: UnsafeRawPointer?) -> segue_status {
  handles.release(handle.map { OpaquePointer($0) })
}

@_cdecl("segue_limit_get") @implementation
public func segue_limit_get(_ limit: segue_limit, _ value: UnsafeMutablePointer<UInt64>?) -> segue_status {
  attempt { () throws(SegueError) in
    let number = try ProcessLimits.get(ProcessLimits.Name(limit))
    value?.pointee = number
  }
}

@_cdecl("segue_limit_set") @implementation
public func segue_limit_set(_ limit: segue_limit, _ value: UInt64) -> segue_status {
  attempt { () throws(SegueError) in try ProcessLimits.set(ProcessLimits.Name(limit), to: value) }
}

@_cdecl("segue_log_set") @implementation
public func segue_log_set(
  _ most: segue_log_level, _ function: segue_log_function?, _ context: UnsafeMutableRawPointer?,
  _ destroy: segue_destroy?
) -> segue_status {
  let target = HostLog(function, Context(context, destroy))
  return attempt { () throws(SegueError) in
    guard let level = Log.Level(rawValue: most) else {
      throw SegueError(.invalidArgument, "most: no such level: \(most)")
    }
    Log.set(function == nil ? nil : target, atMost: level)
  }
}

/// The host's log callback.
private final class HostLog: LogTarget {
  private let function: segue_log_function?
  private let context: Context

  init(_ function: segue_log_function?, _ context: Context) {
    self.function = function
    self.context = context
  }

  override func write(_ level: Log.Level, _ message: UnsafePointer<CChar>, _ length: Int) {
    function?(context.pointer, level.rawValue, message, length)
  }
}

@_cdecl("segue_debug_live_handles") @implementation
public func segue_debug_live_handles(_ count: UnsafeMutablePointer<Int>?) -> segue_status {
  attempt { () throws(SegueError) in count?.pointee = ProcessState.slots?.liveCount ?? 0 }
}
