// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 4 of segue.h: receipts.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

extension HandleKind where Object == SharedBox<Receipt> {
  static var receipt: Self { Self(.receipt) }
}

private func get<Number>(
  _ receipt: OpaquePointer?, _ number: UnsafeMutablePointer<Number>?, _ property: (Receipt) -> Number
) -> segue_status {
  handles.call(receipt, .receipt) { (receipt) throws(SegueError) in number?.pointee = property(receipt.content) }
}

private func get(
  _ receipt: OpaquePointer?, _ text: TextOut, _ length: LengthOut, _ property: (Receipt) -> String
) -> segue_status {
  handles.call(receipt, .receipt) { (receipt) throws(SegueError) in
    try Results.give(property(receipt.content), to: text, length: length)
  }
}

@_cdecl("segue_receipt_get_outcome") @implementation
public func segue_receipt_get_outcome(
  _ receipt: OpaquePointer?, _ outcome: UnsafeMutablePointer<segue_outcome>?
) -> segue_status {
  get(receipt, outcome) { $0.outcome.rawValue }
}

@_cdecl("segue_receipt_get_status") @implementation
public func segue_receipt_get_status(
  _ receipt: OpaquePointer?, _ status: UnsafeMutablePointer<segue_status>?
) -> segue_status {
  get(receipt, status) { $0.status.rawValue }
}

@_cdecl("segue_receipt_get_reason") @implementation
public func segue_receipt_get_reason(
  _ receipt: OpaquePointer?, _ reason: TextOut, _ length: LengthOut
) -> segue_status {
  // It may quote text of another app.
  get(receipt, reason, length) { Text.decoded(Text.oneLine($0.reason)) }
}

@_cdecl("segue_receipt_get_device_name") @implementation
public func segue_receipt_get_device_name(
  _ receipt: OpaquePointer?, _ name: TextOut, _ length: LengthOut
) -> segue_status {
  get(receipt, name, length) { $0.receiver.deviceName }
}

@_cdecl("segue_receipt_get_app_name") @implementation
public func segue_receipt_get_app_name(
  _ receipt: OpaquePointer?, _ name: TextOut, _ length: LengthOut
) -> segue_status {
  get(receipt, name, length) { $0.receiver.appName }
}

@_cdecl("segue_receipt_get_bundle_identifier") @implementation
public func segue_receipt_get_bundle_identifier(
  _ receipt: OpaquePointer?, _ identifier: TextOut, _ length: LengthOut
) -> segue_status {
  get(receipt, identifier, length) { $0.receiver.bundleIdentifier }
}

@_cdecl("segue_receipt_get_continuation_id") @implementation
public func segue_receipt_get_continuation_id(
  _ receipt: OpaquePointer?, _ id: UnsafeMutablePointer<UInt8>?
) -> segue_status {
  handles.call(receipt, .receipt) { (receipt) throws(SegueError) in Results.give(receipt.content.continuation, to: id) }
}

@_cdecl("segue_receipt_get_date") @implementation
public func segue_receipt_get_date(
  _ receipt: OpaquePointer?, _ seconds: UnsafeMutablePointer<Double>?
) -> segue_status {
  get(receipt, seconds) { $0.date }
}

@_cdecl("segue_receipt_get_stale") @implementation
public func segue_receipt_get_stale(_ receipt: OpaquePointer?, _ stale: UnsafeMutablePointer<Bool>?) -> segue_status {
  get(receipt, stale) { $0.isStale }
}
