// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 14 of segue.h: the agent.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime
import SegueWire

@_cdecl("segue_app_set_accepts_waiting") @implementation
public func segue_app_set_accepts_waiting(_ app: OpaquePointer?, _ accepts: Bool) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in app.setAcceptsWaiting(accepts) }
}

@_cdecl("segue_app_launch") @implementation
public func segue_app_launch(
  _ app: OpaquePointer?, _ offer: OpaquePointer?, _ bundle: UnsafePointer<CChar>?, _ length: Int,
  _ timeout: UInt32, _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try handles.use(offer, .offer) { (offer) throws(SegueError) in
      let bundle = try Arguments.optionalText(bundle, length, "bundle_identifier", atMost: Limits.identifier)
      let timeout = try Arguments.timeout(timeout, atMost: Limits.longestAsk)
      let report = try app.launch(offer.offer, in: bundle, timeout: timeout)
      try handles.give(report, to: result)
    }
  }
}

@_cdecl("segue_activity_push") @implementation
public func segue_activity_push(
  _ activity: OpaquePointer?, _ device: UnsafePointer<UInt8>?, _ bundle: UnsafePointer<CChar>?, _ length: Int,
  _ timeout: UInt32, _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let bundle = try Arguments.optionalText(bundle, length, "bundle_identifier", atMost: Limits.identifier)
    let timeout = try Arguments.timeout(timeout, atMost: Limits.longestAsk)
    guard let app = activity.app else { throw SegueError(.invalidState, "activity: was made without an app") }
    let device = device == nil ? nil : try Arguments.identifier(device, "device")
    try handles.give(try app.push(activity, to: bundle, on: device, timeout: timeout), to: result)
  }
}

@_cdecl("segue_activity_get_route") @implementation
public func segue_activity_get_route(
  _ activity: OpaquePointer?, _ route: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let out = try Arguments.required(route, "route")
    guard let app = activity.app else { throw SegueError(.invalidState, "activity: was made without an app") }
    try handles.give(try app.route(activity), to: out)
  }
}

@_cdecl("segue_app_ask_agent") @implementation
public func segue_app_ask_agent(
  _ app: OpaquePointer?, _ request: UnsafePointer<CChar>?, _ length: Int, _ options: OpaquePointer?,
  _ timeout: UInt32, _ answer: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let request = try Arguments.text(request, length, "request", atMost: Limits.identifier)
    let timeout = try Arguments.timeout(timeout, atMost: Limits.longestAsk)
    try handles.use(optional: options, .value) { (options) throws(SegueError) in
      let answered = try app.ask(request, try entries(of: options?.value), timeout: timeout)
      try handles.give(answered, to: answer)
    }
  }
}

private func entries(of options: Value?) throws(SegueError) -> [(key: Value, value: Value)] {
  guard let options else { return [] }
  guard let entries = options.entries else {
    throw SegueError(.wrongKind, "options: a dictionary is needed, not \(options.kind.name)")
  }
  guard options.encoding.count <= AgentRequest.sizeLimit else {
    throw SegueError(
      .limitExceeded, "options: \(options.encoding.count) bytes, at most \(AgentRequest.sizeLimit) are allowed")
  }
  return entries
}
