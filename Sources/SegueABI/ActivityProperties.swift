// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 3 of segue.h: the properties of activities.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime
import SegueTransport

public typealias TextOut = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
public typealias LengthOut = UnsafeMutablePointer<Int>?

/// Sets an optional text.
private func set(
  _ activity: OpaquePointer?, _ text: UnsafePointer<CChar>?, _ length: Int, _ name: StaticString, atMost limit: Int,
  _ change: (inout Activity, String?) throws(SegueError) -> Void
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let text = try Arguments.optionalText(text, length, name, atMost: limit)
    try activity.update { (state) throws(SegueError) in try change(&state, text) }
  }
}

private func get(
  _ activity: OpaquePointer?, _ text: TextOut, _ length: LengthOut, _ property: (borrowing Activity) -> String?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    try Results.give(activity.read(property), to: text, length: length)
  }
}

/// Sets an optional value.
private func set(
  _ activity: OpaquePointer?, _ value: OpaquePointer?,
  _ change: (inout Activity, Value?) throws(SegueError) -> Void
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    try handles.use(optional: value, .value) { (value) throws(SegueError) in
      try activity.update { (state) throws(SegueError) in try change(&state, value?.value) }
    }
  }
}

private func get(
  _ activity: OpaquePointer?, _ value: UnsafeMutablePointer<OpaquePointer?>?, _ name: StaticString,
  _ property: (borrowing Activity) -> Value?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let out = try Arguments.required(value, name)
    guard let value = activity.read(property) else {
      out.pointee = nil
      return
    }
    try handles.give(value, to: out)
  }
}

/// Inlined together with its closure: otherwise the whole activity would be copied for the closure.
@inline(__always)
private func get<Number>(
  _ activity: OpaquePointer?, _ number: UnsafeMutablePointer<Number>?, _ property: (borrowing Activity) -> Number
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in number?.pointee = activity.read(property) }
}

private func set(_ activity: OpaquePointer?, _ change: (inout Activity) throws(SegueError) -> Void) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in try activity.update(change) }
}

// MARK: Texts

@_cdecl("segue_activity_get_type") @implementation
public func segue_activity_get_type(_ activity: OpaquePointer?, _ type: TextOut, _ length: LengthOut) -> segue_status {
  get(activity, type, length) { $0.type }
}

@_cdecl("segue_activity_set_title") @implementation
public func segue_activity_set_title(
  _ activity: OpaquePointer?, _ title: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  set(activity, title, length, "title", atMost: Limits.title) { (state, text) throws(SegueError) in
    try state.setTitle(text)
  }
}

@_cdecl("segue_activity_get_title") @implementation
public func segue_activity_get_title(
  _ activity: OpaquePointer?, _ title: TextOut, _ length: LengthOut
) -> segue_status {
  get(activity, title, length) { $0.title }
}

@_cdecl("segue_activity_set_webpage_url") @implementation
public func segue_activity_set_webpage_url(
  _ activity: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  set(activity, url, length, "url", atMost: Limits.url) { (state, text) throws(SegueError) in
    try state.setWebpageURL(text)
  }
}

@_cdecl("segue_activity_get_webpage_url") @implementation
public func segue_activity_get_webpage_url(
  _ activity: OpaquePointer?, _ url: TextOut, _ length: LengthOut
) -> segue_status {
  get(activity, url, length) { $0.webpageURL }
}

@_cdecl("segue_activity_set_referrer_url") @implementation
public func segue_activity_set_referrer_url(
  _ activity: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  set(activity, url, length, "url", atMost: Limits.url) { (state, text) throws(SegueError) in
    try state.setReferrerURL(text)
  }
}

@_cdecl("segue_activity_get_referrer_url") @implementation
public func segue_activity_get_referrer_url(
  _ activity: OpaquePointer?, _ url: TextOut, _ length: LengthOut
) -> segue_status {
  get(activity, url, length) { $0.referrerURL }
}

@_cdecl("segue_activity_set_target_content_identifier") @implementation
public func segue_activity_set_target_content_identifier(
  _ activity: OpaquePointer?, _ identifier: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  set(activity, identifier, length, "identifier", atMost: Limits.identifier) { (state, text) throws(SegueError) in
    try state.setTargetContentIdentifier(text)
  }
}

@_cdecl("segue_activity_get_target_content_identifier") @implementation
public func segue_activity_get_target_content_identifier(
  _ activity: OpaquePointer?, _ identifier: TextOut, _ length: LengthOut
) -> segue_status {
  get(activity, identifier, length) { $0.targetContentIdentifier }
}

@_cdecl("segue_activity_set_persistent_identifier") @implementation
public func segue_activity_set_persistent_identifier(
  _ activity: OpaquePointer?, _ identifier: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  set(activity, identifier, length, "identifier", atMost: Limits.identifier) { (state, text) throws(SegueError) in
    try state.setPersistentIdentifier(text)
  }
}

@_cdecl("segue_activity_get_persistent_identifier") @implementation
public func segue_activity_get_persistent_identifier(
  _ activity: OpaquePointer?, _ identifier: TextOut, _ length: LengthOut
) -> segue_status {
  get(activity, identifier, length) { $0.persistentIdentifier }
}

// MARK: user_info

@_cdecl("segue_activity_set_user_info") @implementation
public func segue_activity_set_user_info(_ activity: OpaquePointer?, _ userInfo: OpaquePointer?) -> segue_status {
  set(activity, userInfo) { (state, value) throws(SegueError) in
    try state.setUserInfo(value, limit: ProcessLimits.userInfoLimit)
  }
}

@_cdecl("segue_activity_get_user_info") @implementation
public func segue_activity_get_user_info(
  _ activity: OpaquePointer?, _ userInfo: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  get(activity, userInfo, "user_info") { $0.userInfo }
}

@_cdecl("segue_activity_add_user_info_entries") @implementation
public func segue_activity_add_user_info_entries(
  _ activity: OpaquePointer?, _ entries: OpaquePointer?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    try handles.use(entries, .value) { (entries) throws(SegueError) in
      try activity.addUserInfoEntries(entries.value, limit: ProcessLimits.userInfoLimit)
    }
  }
}

@_cdecl("segue_activity_set_user_info_cbor") @implementation
public func segue_activity_set_user_info_cbor(
  _ activity: OpaquePointer?, _ cbor: UnsafePointer<UInt8>?, _ length: Int
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let bytes = try Arguments.bytes(cbor, length, "cbor", atMost: Limits.value)
    let value = cbor == nil ? nil : try Value(cbor: bytes)
    try activity.update { (state) throws(SegueError) in
      try state.setUserInfo(value, limit: ProcessLimits.userInfoLimit)
    }
  }
}

@_cdecl("segue_activity_get_user_info_cbor") @implementation
public func segue_activity_get_user_info_cbor(
  _ activity: OpaquePointer?, _ cbor: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, _ length: LengthOut
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    try Results.give(activity.read { $0.userInfo?.encoding }, to: cbor, length: length)
  }
}

// MARK: Sets of strings

@_cdecl("segue_activity_set_required_user_info_keys") @implementation
public func segue_activity_set_required_user_info_keys(
  _ activity: OpaquePointer?, _ keys: OpaquePointer?
) -> segue_status {
  set(activity, keys) { (state, value) throws(SegueError) in try state.setRequiredUserInfoKeys(value) }
}

@_cdecl("segue_activity_get_required_user_info_keys") @implementation
public func segue_activity_get_required_user_info_keys(
  _ activity: OpaquePointer?, _ keys: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  get(activity, keys, "keys") { $0.requiredUserInfoKeys }
}

@_cdecl("segue_activity_set_keywords") @implementation
public func segue_activity_set_keywords(_ activity: OpaquePointer?, _ keywords: OpaquePointer?) -> segue_status {
  set(activity, keywords) { (state, value) throws(SegueError) in try state.setKeywords(value) }
}

@_cdecl("segue_activity_get_keywords") @implementation
public func segue_activity_get_keywords(
  _ activity: OpaquePointer?, _ keywords: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  get(activity, keywords, "keywords") { $0.keywords }
}

// MARK: Numbers

@_cdecl("segue_activity_set_needs_save") @implementation
public func segue_activity_set_needs_save(_ activity: OpaquePointer?, _ needsSave: Bool) -> segue_status {
  handles.callAtOnce(activity, .activity) { (activity) throws(SegueError) in
    guard activity.setNeedsSave(needsSave) else { return }
    let cancellation = Cancellation.disable()
    activity.tellApp()
    Cancellation.restore(cancellation)
  }
}

@_cdecl("segue_activity_get_needs_save") @implementation
public func segue_activity_get_needs_save(
  _ activity: OpaquePointer?, _ needsSave: UnsafeMutablePointer<Bool>?
) -> segue_status {
  handles.callAtOnce(activity, .activity) { (activity) throws(SegueError) in needsSave?.pointee = activity.needsSave }
}

@_cdecl("segue_activity_set_expiration_date") @implementation
public func segue_activity_set_expiration_date(_ activity: OpaquePointer?, _ seconds: Double) -> segue_status {
  set(activity) { (state) throws(SegueError) in try state.setExpirationDate(seconds.isNaN ? nil : seconds) }
}

@_cdecl("segue_activity_get_expiration_date") @implementation
public func segue_activity_get_expiration_date(
  _ activity: OpaquePointer?, _ seconds: UnsafeMutablePointer<Double>?
) -> segue_status {
  get(activity, seconds) { $0.expirationDate ?? .nan }
}

@_cdecl("segue_activity_set_supports_continuation_streams") @implementation
public func segue_activity_set_supports_continuation_streams(
  _ activity: OpaquePointer?, _ supports: Bool
) -> segue_status {
  set(activity) { (state) throws(SegueError) in state.setSupportsContinuationStreams(supports) }
}

@_cdecl("segue_activity_get_supports_continuation_streams") @implementation
public func segue_activity_get_supports_continuation_streams(
  _ activity: OpaquePointer?, _ supports: UnsafeMutablePointer<Bool>?
) -> segue_status {
  get(activity, supports) { $0.supportsContinuationStreams }
}

@_cdecl("segue_activity_set_private") @implementation
public func segue_activity_set_private(_ activity: OpaquePointer?, _ isPrivate: Bool) -> segue_status {
  set(activity) { (state) throws(SegueError) in state.setPrivate(isPrivate) }
}

@_cdecl("segue_activity_get_private") @implementation
public func segue_activity_get_private(
  _ activity: OpaquePointer?, _ isPrivate: UnsafeMutablePointer<Bool>?
) -> segue_status {
  get(activity, isPrivate) { $0.isPrivate }
}

@_cdecl("segue_activity_set_public") @implementation
public func segue_activity_set_public(_ activity: OpaquePointer?, _ isPublic: Bool) -> segue_status {
  set(activity) { (state) throws(SegueError) in state.setPublic(isPublic) }
}

@_cdecl("segue_activity_get_public") @implementation
public func segue_activity_get_public(
  _ activity: OpaquePointer?, _ isPublic: UnsafeMutablePointer<Bool>?
) -> segue_status {
  get(activity, isPublic) { $0.isPublic }
}

@_cdecl("segue_activity_set_keeps_offering") @implementation
public func segue_activity_set_keeps_offering(_ activity: OpaquePointer?, _ keepsOffering: Bool) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in activity.setKeepsOffering(keepsOffering) }
}

@_cdecl("segue_activity_get_keeps_offering") @implementation
public func segue_activity_get_keeps_offering(
  _ activity: OpaquePointer?, _ keepsOffering: UnsafeMutablePointer<Bool>?
) -> segue_status {
  get(activity, keepsOffering) { $0.keepsOffering }
}

@_cdecl("segue_activity_set_payload_version") @implementation
public func segue_activity_set_payload_version(_ activity: OpaquePointer?, _ version: UInt32) -> segue_status {
  set(activity) { (state) throws(SegueError) in state.setPayloadVersion(version) }
}

@_cdecl("segue_activity_get_payload_version") @implementation
public func segue_activity_get_payload_version(
  _ activity: OpaquePointer?, _ version: UnsafeMutablePointer<UInt32>?
) -> segue_status {
  get(activity, version) { $0.payloadVersion }
}

@_cdecl("segue_activity_set_eligible") @implementation
public func segue_activity_set_eligible(
  _ activity: OpaquePointer?, _ what: segue_eligibility, _ eligible: Bool
) -> segue_status {
  set(activity) { (state) throws(SegueError) in state.setEligible(try eligibility(what), eligible) }
}

@_cdecl("segue_activity_get_eligible") @implementation
public func segue_activity_get_eligible(
  _ activity: OpaquePointer?, _ what: segue_eligibility, _ eligible: UnsafeMutablePointer<Bool>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let what = try eligibility(what)
    eligible?.pointee = activity.read { $0.eligibility.contains(what) }
  }
}

private func eligibility(_ what: segue_eligibility) throws(SegueError) -> Activity.Eligibility {
  switch what {
  case SEGUE_ELIGIBLE_FOR_HANDOFF: .handoff
  case SEGUE_ELIGIBLE_FOR_SEARCH: .search
  case SEGUE_ELIGIBLE_FOR_PUBLIC_INDEXING: .publicIndexing
  case SEGUE_ELIGIBLE_FOR_PREDICTION: .prediction
  default: throw SegueError(.invalidArgument, "what: no such eligibility: \(what)")
  }
}
