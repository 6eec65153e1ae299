// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueRuntime

/// The type of a handle: one number for each opaque struct of segue.h.
public enum HandleType: UInt8, Sendable {
  case value = 1
  case writer
  case reader
  case activity
  case activityDelegate
  case save
  case receipt
  case app
  case appDelegate
  case offer
  case continuation
  case error
  case restorable
  case fleet
  case fleetDevice
  case stream
  case request
  case transfer
  case link
  case access
  case responder
  case document
  case documentObserver

  /// Whether a forked child can use objects of this type: they are memory only.
  var worksInFork: Bool {
    switch self {
    case .value, .writer, .reader: true
    default: false
    }
  }

  /// Whether an object of this type is used by one call at a time.
  var isUsedAlone: Bool { self == .writer || self == .reader }

  /// The type that a handle says it has. Nil: it is none.
  init?(of pointer: OpaquePointer) {
    guard let ticket = Ticket(pointer) else { return nil }
    self.init(rawValue: ticket.type)
  }

  /// Its name in the header.
  var name: String {
    switch self {
    case .value: "segue_value"
    case .writer: "segue_writer"
    case .reader: "segue_reader"
    case .activity: "segue_activity"
    case .activityDelegate: "segue_activity_delegate"
    case .save: "segue_save"
    case .receipt: "segue_receipt"
    case .app: "segue_app"
    case .appDelegate: "segue_app_delegate"
    case .offer: "segue_offer"
    case .continuation: "segue_continuation"
    case .error: "segue_error"
    case .restorable: "segue_restorable"
    case .fleet: "segue_fleet"
    case .fleetDevice: "segue_fleet_device"
    case .stream: "segue_stream"
    case .request: "segue_request"
    case .transfer: "segue_transfer"
    case .link: "segue_link"
    case .access: "segue_access"
    case .responder: "segue_responder"
    case .document: "segue_document"
    case .documentObserver: "segue_document_observer"
    }
  }
}

/// A handle's type together with the class of the objects behind it, so that the two always match:
///
///     extension HandleKind where Object == LiveActivity {
///       static var activity: Self { Self(.activity) }
///     }
public struct HandleKind<Object: HandleObject>: Sendable {
  public let type: HandleType

  public init(_ type: HandleType) { self.type = type }
}
