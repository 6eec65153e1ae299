// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 9 of segue.h: streams between the two sides of a continuation.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

extension HandleKind where Object == LiveStream {
  static var stream: Self { Self(.stream) }
}

/// The host's callback for a stream that it has asked for.
private final class HostStreamRequestCallback: StreamRequestCallback {
  private let function: segue_stream_function?
  private let context: Context

  init(_ activity: LiveActivity, _ function: segue_stream_function?, _ context: Context) {
    self.function = function
    self.context = context
    super.init(activity)
  }

  override func answered(_ activity: LiveActivity, _ stream: LiveStream?, _ error: SharedBox<SegueError>?) {
    guard let function else { return }
    _ = handles.lend(activity, .activity) { activity in
      if let stream {
        _ = handles.lend(stream, .stream) { stream in function(context.pointer, activity, stream, nil) }
      } else if let error {
        _ = handles.lend(error, .error) { error in function(context.pointer, activity, nil, error) }
      }
    }
  }
}

/// The host's callback for how a stream has ended.
private final class HostStreamEndCallback: StreamEndCallback {
  private let function: segue_stream_result_function?
  private let context: Context

  init(_ function: segue_stream_result_function?, _ context: Context) {
    self.function = function
    self.context = context
  }

  override func ended(_ stream: LiveStream, _ status: StreamStatus) {
    guard let function else { return }
    let (result, code): (segue_stream_result, UInt32) =
      switch status {
      case .open, .ended: (SEGUE_STREAM_ENDED, 0)
      case .aborted(let code): (SEGUE_STREAM_ABORTED, code)
      case .broken: (SEGUE_STREAM_BROKEN, 0)
      }
    _ = handles.lend(stream, .stream) { stream in function(context.pointer, stream, result, code) }
  }
}

@_cdecl("segue_activity_ask_stream") @implementation
public func segue_activity_ask_stream(
  _ activity: OpaquePointer?, _ timeout: UInt32, _ function: segue_stream_function?,
  _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?
) -> segue_status {
  let context = Context(context, destroy)
  return handles.call(activity, .activity) { (activity) throws(SegueError) in
    _ = try Arguments.required(function, "function")
    let ask = HostStreamRequestCallback(activity, function, context)
    try activity.askStream(ask, timeout: try Arguments.timeout(timeout))
  }
}

@_cdecl("segue_stream_open") @implementation
public func segue_stream_open(_ stream: OpaquePointer?, _ fd: UnsafeMutablePointer<Int32>?) -> segue_status {
  handles.call(stream, .stream) { (stream) throws(SegueError) in
    let fd = try Arguments.required(fd, "fd")
    fd.pointee = try stream.open()
  }
}

@_cdecl("segue_stream_finish") @implementation
public func segue_stream_finish(_ stream: OpaquePointer?) -> segue_status {
  handles.call(stream, .stream) { (stream) throws(SegueError) in try stream.finish() }
}

@_cdecl("segue_stream_abort") @implementation
public func segue_stream_abort(_ stream: OpaquePointer?, _ code: UInt32) -> segue_status {
  handles.call(stream, .stream) { (stream) throws(SegueError) in stream.abort(code) }
}

@_cdecl("segue_stream_ask_result") @implementation
public func segue_stream_ask_result(
  _ stream: OpaquePointer?, _ function: segue_stream_result_function?, _ context: UnsafeMutableRawPointer?,
  _ destroy: segue_destroy?
) -> segue_status {
  let wait = HostStreamEndCallback(function, Context(context, destroy))
  return handles.call(stream, .stream) { (stream) throws(SegueError) in
    _ = try Arguments.required(function, "function")
    try stream.wait(wait)
  }
}
