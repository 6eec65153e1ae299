// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 2 of segue.h: values as JSON text.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

/// Reads and writes the JSON of a caller.
enum JSONArguments {
  /// The most times by which text is longer than the CBOR of its value, and the memory for it while it grows.
  private static let growth = 8

  static func mode(_ mode: segue_json_mode) throws(SegueError) -> JSONMode {
    guard let mode = JSONMode(rawValue: mode) else {
      throw SegueError(.invalidArgument, "mode: no such mode: \(mode)")
    }
    return mode
  }

  static func value(
    _ json: UnsafePointer<CChar>?, _ length: Int, _ mode: segue_json_mode
  ) throws(SegueError) -> Value {
    let mode = try Self.mode(mode)
    return try Value(json: try Arguments.utf8(json, length, "json", atMost: Limits.json), mode)
  }

  static func give(
    _ value: Value, _ mode: segue_json_mode, to out: TextOut, _ length: LengthOut
  ) throws(SegueError) {
    let mode = try Self.mode(mode)
    try Arguments.checkMemory(for: growth * value.encoding.count)
    try value.withJSON(mode) { (text) throws(SegueError) in try Results.give(utf8: text, to: out, length: length) }
  }
}

@_cdecl("segue_value_decode_json") @implementation
public func segue_value_decode_json(
  _ json: UnsafePointer<CChar>?, _ length: Int, _ mode: segue_json_mode, _ value: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  attemptAtOnce(evenInFork: true) { () throws(SegueError) in
    try handles.give(try JSONArguments.value(json, length, mode), to: value)
  }
}

@_cdecl("segue_value_encode_json") @implementation
public func segue_value_encode_json(
  _ value: OpaquePointer?, _ mode: segue_json_mode, _ json: TextOut, _ length: LengthOut
) -> segue_status {
  handles.call(value, .value) { (held) throws(SegueError) in
    try JSONArguments.give(held.value, mode, to: json, length)
  }
}

@_cdecl("segue_activity_set_user_info_json") @implementation
public func segue_activity_set_user_info_json(
  _ activity: OpaquePointer?, _ json: UnsafePointer<CChar>?, _ length: Int, _ mode: segue_json_mode
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    _ = try JSONArguments.mode(mode)
    let value = json == nil ? nil : try JSONArguments.value(json, length, mode)
    try activity.update { (state) throws(SegueError) in
      try state.setUserInfo(value, limit: ProcessLimits.userInfoLimit)
    }
  }
}

@_cdecl("segue_activity_get_user_info_json") @implementation
public func segue_activity_get_user_info_json(
  _ activity: OpaquePointer?, _ mode: segue_json_mode, _ json: TextOut, _ length: LengthOut
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    guard let value = activity.read({ $0.userInfo }) else {
      _ = try JSONArguments.mode(mode)
      return try Results.give(nil as String?, to: json, length: length)
    }
    try JSONArguments.give(value, mode, to: json, length)
  }
}
