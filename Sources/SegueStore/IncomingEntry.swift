// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueWire

/// A continuation whose payload is whole, on its way into the inbox.
public struct IncomingEntry: Sendable {
  public let continuation: Identifier
  public let app: String
  public let offer: Offer
  public let isStale: Bool
  /// An activity document (docs/protocol.md), in the form that travels.
  public let document: [UInt8]
  public let attachments: [AttachmentContent]
  /// The requester whose share of the inbox the entry takes, beside that of its app; nil: no share.
  public let principal: Identifier?
  /// The folders of an origin on this device (R13.4), as `OriginFolders` reads them; empty: none.
  public let originFolders: [UInt8]

  public init(
    continuation: Identifier, app: String, offer: Offer, isStale: Bool, document: [UInt8],
    attachments: [AttachmentContent] = [], principal: Identifier? = nil, originFolders: [UInt8] = []
  ) {
    self.continuation = continuation
    self.app = app
    self.offer = offer
    self.isStale = isStale
    self.document = document
    self.attachments = attachments
    self.principal = principal
    self.originFolders = originFolders
  }
}

/// The result of putting an entry into the inbox.
public enum Placement: Sendable {
  case stored
  /// An entry of this continuation waits already, or is being delivered; nothing changed.
  case known
  /// The continuation was acknowledged, dropped or expired before: it is never delivered again.
  case ended
}

/// An activity that is offered although its app is in the background or has ended (R2.5).
public struct KeptOffer: Sendable {
  /// Its rank and time of activation are 0.
  public let offer: Offer
  /// The Team ID of its app.
  public let team: String
  public let payload: StoredPayload
  /// Seconds since 1970, as the clock of the device says now.
  public let keptAt: Double
  public let expiresAt: Double
  /// Nil if an app of this device has left it.
  public let retained: Retained?

  /// The device for which it is retained (R14.5), and how it was continued; nil: it was not yet.
  public struct Retained: Sendable {
    public let origin: RetainedOrigin
    public let receipt: Receipt?

    public init(origin: RetainedOrigin, receipt: Receipt? = nil) {
      (self.origin, self.receipt) = (origin, receipt)
    }
  }
}
