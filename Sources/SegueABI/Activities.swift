// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 3 of segue.h: activities. Their properties are in ActivityProperties.swift.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime
import SegueTransport
import SegueWire

extension HandleKind where Object == LiveActivity {
  static var activity: Self { Self(.activity) }
}

@_cdecl("segue_activity_create") @implementation
public func segue_activity_create(
  _ app: OpaquePointer?, _ type: UnsafePointer<CChar>?, _ typeLength: Int,
  _ activity: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  attempt { () throws(SegueError) in
    let out = try Arguments.required(activity, "activity")
    let type = try Arguments.optionalText(type, typeLength, "type", atMost: Limits.type)
    try handles.use(optional: app, .app) { (app) throws(SegueError) in
      let type = if let type { type } else { try defaultType(of: app) }
      let state = try Activity(type: type)
      try handles.give(LiveActivity(state, app: app), .activity, to: out)
    }
  }
}

private func defaultType(of app: App?) throws(SegueError) -> String {
  guard let app else { throw SegueError(.invalidArgument, "type: is NULL, and there is no app that declares one") }
  return try app.firstType()
}

@_cdecl("segue_activity_decode") @implementation
public func segue_activity_decode(
  _ app: OpaquePointer?, _ document: UnsafePointer<UInt8>?, _ length: Int,
  _ activity: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  attempt { () throws(SegueError) in
    let out = try Arguments.required(activity, "activity")
    let bytes = try Arguments.bytes(document, length, "document", atMost: ActivityDocument.limit)
    try handles.use(optional: app, .app) { (app) throws(SegueError) in
      let state = try ActivityDocument.decode(
        bytes, ReferenceReader(app?.currentContainers ?? .none), userInfoLimit: ProcessLimits.userInfoLimit)
      try handles.give(LiveActivity(state, app: app), .activity, to: out)
    }
  }
}

@_cdecl("segue_activity_encode") @implementation
public func segue_activity_encode(
  _ activity: OpaquePointer?, _ document: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?,
  _ length: UnsafeMutablePointer<Int>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let bytes = try ActivityDocument.encode(
      activity.read { $0 }, activity.containers, userInfoLimit: ProcessLimits.userInfoLimit)
    try Results.give(bytes, to: document, length: length)
  }
}

@_cdecl("segue_activity_describe") @implementation
public func segue_activity_describe(
  _ activity: OpaquePointer?, _ text: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
  _ length: UnsafeMutablePointer<Int>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    try Results.give(ActivityDocument.describe(activity.read { $0 }), to: text, length: length)
  }
}

@_cdecl("segue_activity_validate") @implementation
public func segue_activity_validate(
  _ activity: OpaquePointer?, _ problems: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let out = try Arguments.required(problems, "problems")
    // Its longest text, as part of a problem; and a problem of each key.
    let (size, keys) = activity.read {
      (
        max($0.userInfo?.encoding.count ?? 0, $0.requiredUserInfoKeys?.encoding.count ?? 0),
        $0.requiredUserInfoKeys?.count ?? 0
      )
    }
    try Arguments.checkMemory(for: size)
    try Arguments.checkMemory(for: keys, copies: 512)
    var list: [Value] = []
    for problem in activity.problems {
      list.append(
        try .dictionary([
          (key: .string("path"), value: .string(problem.path)),
          (key: .string("status"), value: .integer(Int64(problem.status.rawValue))),
          (key: .string("message"), value: .string(problem.message)),
        ]))
    }
    try handles.give(Value.array(list), to: out)
  }
}

@_cdecl("segue_activity_become_current") @implementation
public func segue_activity_become_current(_ activity: OpaquePointer?) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in try activity.becomeCurrent() }
}

@_cdecl("segue_activity_resign_current") @implementation
public func segue_activity_resign_current(_ activity: OpaquePointer?) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in try activity.resignCurrent() }
}

@_cdecl("segue_activity_invalidate") @implementation
public func segue_activity_invalidate(_ activity: OpaquePointer?) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in activity.invalidate() }
}

@_cdecl("segue_activity_get_current") @implementation
public func segue_activity_get_current(
  _ activity: OpaquePointer?, _ current: UnsafeMutablePointer<Bool>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in current?.pointee = activity.isCurrentNow }
}

@_cdecl("segue_activity_get_valid") @implementation
public func segue_activity_get_valid(_ activity: OpaquePointer?, _ valid: UnsafeMutablePointer<Bool>?) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in valid?.pointee = activity.isStillValid }
}

@_cdecl("segue_activity_set_delegate") @implementation
public func segue_activity_set_delegate(_ activity: OpaquePointer?, _ delegate: OpaquePointer?) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    try handles.use(optional: delegate, .activityDelegate) { (delegate) throws(SegueError) in
      activity.setDelegate(delegate)
    }
  }
}

@_cdecl("segue_activity_get_id") @implementation
public func segue_activity_get_id(_ activity: OpaquePointer?, _ id: UnsafeMutablePointer<UInt8>?) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in Results.give(activity.id, to: id) }
}

@_cdecl("segue_activity_get_continued_from") @implementation
public func segue_activity_get_continued_from(
  _ activity: OpaquePointer?, _ origin: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let out = try Arguments.required(origin, "origin")
    guard let from = activity.continuedFrom else {
      out.pointee = nil
      return
    }
    var entries: [(key: Value, value: Value)] = [
      (key: .string("continuation_id"), value: .uuid(from.continuation)),
      (key: .string("activity_id"), value: .uuid(from.offer.description.id)),
      (key: .string("device_name"), value: .string(from.offer.deviceName)),
      (key: .string("app_name"), value: .string(from.offer.appName)),
      (key: .string("bundle_identifier"), value: .string(from.offer.bundleIdentifier)),
      (key: .string("stale"), value: .bool(from.isStale)),
      (key: .string("redelivered"), value: .bool(from.isRedelivered)),
      (key: .string("document"), value: .bool(from.documentURL != nil)),
    ]
    if let reason = from.staleReason {
      // Text of another app.
      entries.append((key: .string("stale_reason"), value: .string(Text.decoded(Text.oneLine(reason)))))
    }
    if let token = from.activationToken { entries.append((key: .string("activation_token"), value: .string(token))) }
    try handles.give(try Value.dictionary(entries), to: out)
  }
}
