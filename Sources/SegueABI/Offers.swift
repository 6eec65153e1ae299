// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 7 of segue.h: offers.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

extension HandleKind where Object == OfferObject {
  static var offer: Self { Self(.offer) }
}

private func get<Number>(
  _ offer: OpaquePointer?, _ number: UnsafeMutablePointer<Number>?, _ property: (Offer) -> Number
) -> segue_status {
  handles.call(offer, .offer) { (offer) throws(SegueError) in number?.pointee = property(offer.offer) }
}

private func get(
  _ offer: OpaquePointer?, _ text: TextOut, _ length: LengthOut, _ property: (Offer) -> String?
) -> segue_status {
  handles.call(offer, .offer) { (offer) throws(SegueError) in
    try Results.give(property(offer.offer), to: text, length: length)
  }
}

@_cdecl("segue_offer_get_id") @implementation
public func segue_offer_get_id(_ offer: OpaquePointer?, _ id: UnsafeMutablePointer<UInt8>?) -> segue_status {
  handles.call(offer, .offer) { (offer) throws(SegueError) in Results.give(offer.offer.description.id, to: id) }
}

@_cdecl("segue_offer_get_type") @implementation
public func segue_offer_get_type(_ offer: OpaquePointer?, _ type: TextOut, _ length: LengthOut) -> segue_status {
  get(offer, type, length) { $0.description.type }
}

@_cdecl("segue_offer_get_title") @implementation
public func segue_offer_get_title(_ offer: OpaquePointer?, _ title: TextOut, _ length: LengthOut) -> segue_status {
  get(offer, title, length) { $0.description.title }
}

@_cdecl("segue_offer_get_device_name") @implementation
public func segue_offer_get_device_name(_ offer: OpaquePointer?, _ name: TextOut, _ length: LengthOut) -> segue_status {
  get(offer, name, length) { $0.deviceName }
}

@_cdecl("segue_offer_get_app_name") @implementation
public func segue_offer_get_app_name(_ offer: OpaquePointer?, _ name: TextOut, _ length: LengthOut) -> segue_status {
  get(offer, name, length) { $0.appName }
}

@_cdecl("segue_offer_get_bundle_identifier") @implementation
public func segue_offer_get_bundle_identifier(
  _ offer: OpaquePointer?, _ identifier: TextOut, _ length: LengthOut
) -> segue_status {
  get(offer, identifier, length) { $0.bundleIdentifier }
}

@_cdecl("segue_offer_get_web_origin") @implementation
public func segue_offer_get_web_origin(
  _ offer: OpaquePointer?, _ origin: TextOut, _ length: LengthOut
) -> segue_status {
  get(offer, origin, length) { $0.description.webOrigin?.text }
}

@_cdecl("segue_offer_get_label") @implementation
public func segue_offer_get_label(_ offer: OpaquePointer?, _ label: TextOut, _ length: LengthOut) -> segue_status {
  get(offer, label, length) { $0.description.label }
}

@_cdecl("segue_offer_is_public") @implementation
public func segue_offer_is_public(
  _ offer: OpaquePointer?, _ isPublic: UnsafeMutablePointer<Bool>?
) -> segue_status {
  get(offer, isPublic) { $0.description.isPublic }
}

@_cdecl("segue_offer_get_payload_version") @implementation
public func segue_offer_get_payload_version(
  _ offer: OpaquePointer?, _ version: UnsafeMutablePointer<UInt32>?
) -> segue_status {
  get(offer, version) { $0.description.payloadVersion }
}

@_cdecl("segue_offer_get_size_hint") @implementation
public func segue_offer_get_size_hint(_ offer: OpaquePointer?, _ bytes: UnsafeMutablePointer<UInt64>?) -> segue_status {
  get(offer, bytes) { $0.description.sizeHint }
}

@_cdecl("segue_offer_get_age_ms") @implementation
public func segue_offer_get_age_ms(_ offer: OpaquePointer?, _ age: UnsafeMutablePointer<UInt64>?) -> segue_status {
  handles.call(offer, .offer) { (offer) throws(SegueError) in age?.pointee = UInt64(clamping: offer.age) }
}

@_cdecl("segue_offer_get_expiration_date") @implementation
public func segue_offer_get_expiration_date(
  _ offer: OpaquePointer?, _ seconds: UnsafeMutablePointer<Double>?
) -> segue_status {
  get(offer, seconds) { $0.description.expirationDate ?? .nan }
}

@_cdecl("segue_offer_get_supports_continuation_streams") @implementation
public func segue_offer_get_supports_continuation_streams(
  _ offer: OpaquePointer?, _ supports: UnsafeMutablePointer<Bool>?
) -> segue_status {
  get(offer, supports) { $0.description.supportsContinuationStreams }
}
