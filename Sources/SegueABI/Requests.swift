// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 9 of segue.h: requests between the two sides of a continuation.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

extension HandleKind where Object == Request {
  static var request: Self { Self(.request) }
}

/// A request of the host.
private final class HostRequest: Request {
  private let function: segue_response_function
  private var context: Context?

  init(_ activity: LiveActivity, _ function: @escaping segue_response_function, _ context: Context) {
    self.function = function
    self.context = context
    super.init(activity)
  }

  override func forget() { context = nil }

  override func answered(_ activity: LiveActivity, _ bytes: [UInt8], _ error: SharedBox<SegueError>?) {
    let context = self.context?.pointer
    _ = handles.lend(activity, .activity) { activity in
      if let error {
        _ = handles.lend(error, .error) { error in function(context, activity, nil, 0, error) }
      } else {
        bytes.withUnsafeBufferPointer { function(context, activity, $0.baseAddress, $0.count, nil) }
      }
    }
  }
}

@_cdecl("segue_activity_request") @implementation
public func segue_activity_request(
  _ activity: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ length: Int, _ timeout: UInt32,
  _ function: segue_response_function?, _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?,
  _ request: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  let context = Context(context, destroy)
  return handles.call(activity, .activity) { (activity) throws(SegueError) in
    let made = HostRequest(activity, try Arguments.required(function, "function"), context)
    let bytes = Array(try Arguments.bytes(bytes, length, "bytes", atMost: Limits.value))
    let timeout = try Arguments.timeout(timeout)
    try ask(made, giving: request) { () throws(SegueError) in try made.ask(bytes, timeout: timeout) }
  }
}

/// Sends a request, and gives the host its handle.
func ask(
  _ made: Request, giving request: UnsafeMutablePointer<OpaquePointer?>?, _ send: () throws(SegueError) -> Void
) throws(SegueError) {
  // Created first: once the request is sent, its callback runs.
  let handle = try request.map { (_) throws(SegueError) in try handles.make(made, .request) }
  do throws(SegueError) {
    try send()
  } catch {
    if let handle { _ = handles.release(handle, .request) }
    throw error
  }
  if let handle { request?.pointee = handle }
}

@_cdecl("segue_request_cancel") @implementation
public func segue_request_cancel(_ request: OpaquePointer?) -> segue_status {
  handles.call(request, .request) { (request) throws(SegueError) in try request.cancel() }
}

@_cdecl("segue_request_respond") @implementation
public func segue_request_respond(
  _ request: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ length: Int
) -> segue_status {
  handles.call(request, .request) { (request) throws(SegueError) in
    try request.respond(Array(Arguments.bytes(bytes, length, "bytes", atMost: Limits.value)))
  }
}

@_cdecl("segue_request_refuse") @implementation
public func segue_request_refuse(
  _ request: OpaquePointer?, _ reason: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  handles.call(request, .request) { (request) throws(SegueError) in
    try request.refuse(Arguments.reason(reason, length) ?? "")
  }
}

@_cdecl("segue_request_complete") @implementation
public func segue_request_complete(_ request: OpaquePointer?, _ yes: Bool) -> segue_status {
  handles.call(request, .request) { (request) throws(SegueError) in try request.complete(yes) }
}
