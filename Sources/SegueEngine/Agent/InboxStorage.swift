// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A continuation whose payload is whole, for the inbox.
public struct InboxRecord: Sendable {
  public let continuation: Identifier
  /// The bundle identifier of the app that is to get it.
  public let app: String
  /// The origin's.
  public let offer: Offer
  public let isStale: Bool
  /// An activity document.
  public let document: [UInt8]
  /// Those without a source stay with the origin.
  public let attachments: [Attachment]
  /// The principal of the requester, as the hub charges it; nil: the program of the agent itself has asked.
  public let principal: Identifier?
  /// The folders of an origin on this device (R13.4), as `OriginFolders` reads them; empty if it has sent none.
  public let originFolders: [UInt8]
  /// The push that a mailbox gives to this device: stored with the entry, or neither is; nil: it is none.
  public let push: PushMark?

  public init(
    continuation: Identifier, app: String, offer: Offer, isStale: Bool, document: [UInt8], attachments: [Attachment],
    principal: Identifier? = nil, originFolders: [UInt8] = [], push: PushMark? = nil
  ) {
    self.push = push
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

/// A push of another device to this one, as the disk remembers it (R3.15): of each activity the last one, so that none
/// that a mailbox keeps comes twice, or after a later one.
public struct PushMark: Sendable, Equatable {
  /// The device that has pushed it.
  public let device: Identifier
  /// The identifier of the activity at that device.
  public let activity: Identifier
  /// Rises with each push of that device.
  public let number: UInt64

  public init(device: Identifier, activity: Identifier, number: UInt64) {
    (self.device, self.activity, self.number) = (device, activity, number)
  }
}

/// An entry of the inbox that an app is about to get.
public struct InboxItem: Sendable {
  public let continuation: Identifier
  /// The origin's.
  public let offer: Offer
  public let isStale: Bool
  /// Whether an app may have got it before.
  public let isRedelivered: Bool
  /// As in its `InboxRecord`.
  public let originFolders: [UInt8]

  public init(
    continuation: Identifier, offer: Offer, isStale: Bool, isRedelivered: Bool, originFolders: [UInt8] = []
  ) {
    self.originFolders = originFolders
    self.continuation = continuation
    self.offer = offer
    self.isStale = isStale
    self.isRedelivered = isRedelivered
  }
}

/// Why a delivery ends without an acknowledgement. The entry waits again in each case.
public enum DeliveryEnd: Sendable {
  /// No app was told of it: the next delivery is not marked.
  case untold
  /// No answer by the deadline, the user cancelled (R3.3), or the connection was lost. A late answer still counts.
  case unanswered
  /// The app's process died while it had the entry: counted.
  case crashed
}

/// A receipt that was decided before a restart, and whose arrival was not confirmed.
public struct OwedReceipt: Sendable {
  public let receipt: Receipt
  public let origin: Identifier
  public let activity: Identifier

  public init(receipt: Receipt, origin: Identifier, activity: Identifier) {
    self.receipt = receipt
    self.origin = origin
    self.activity = activity
  }
}

/// An activity that an app has left, so that the agent offers it when the app has ended (R2.5).
public struct KeptRecord: Sendable {
  public let activity: Identifier
  /// The app, as far as it is known without its secret, and without its types.
  public let app: AppIdentity
  /// An activity document.
  public let document: [UInt8]
  /// Those without a source are not kept.
  public private(set) var attachments: [Attachment]
  /// Bytes of those that are kept.
  public private(set) var attachmentBytes: UInt64
  public let description: OfferDescription
  /// Seconds since 1970.
  public let keptAt: Double
  /// The device for which it is retained (R14.5); nil: an app of this device has left it.
  public let retained: RetainedOrigin?
  /// The end of its one continuation, if it is retained and was continued.
  public var receipt: Receipt?

  /// - Parameters:
  ///   - attachmentBytes: what is on the disk of its attachments.
  ///   - expirationDate: of a retained one, by the clock of this device. The document has it by that of its origin.
  /// Throws MALFORMED.
  public init(
    _ activity: Identifier, of app: AppIdentity, document: [UInt8], keptAt: Double, attachmentBytes: UInt64 = 0,
    retained: RetainedOrigin? = nil, expirationDate: Double? = nil, receipt: Receipt? = nil
  ) throws(SegueError) {
    let state = try ActivityDocument.decode(document, ReferenceReader(.none), userInfoLimit: Limits.value)
    self.activity = activity
    self.app = app
    self.document = document
    self.keptAt = keptAt
    self.attachmentBytes = min(attachmentBytes, UInt64(Limits.storedAttachments))
    attachments = state.attachments
    let described = OfferDescription(state, id: activity)
    description = retained == nil ? described : described.expiring(expirationDate)
    (self.retained, self.receipt) = (retained, receipt)
  }

  /// The bytes that it has on the disk.
  public var storedBytes: UInt64 { UInt64(document.count) + attachmentBytes }

  /// The same, of whose attachments these are kept.
  func keeping(_ kept: [Attachment]) -> KeptRecord {
    var record = self
    record.attachments = attachments.map { attachment in
      let source = kept.first { Text.isSame($0.name, attachment.name) }?.source
      return Attachment(name: attachment.name, size: attachment.size, source: source)
    }
    record.attachmentBytes = record.attachments.reduce(0) { $0 + ($1.source == nil ? 0 : $1.size) }
    return record
  }

  /// The same, without what holds the content of its attachments.
  var withoutContent: KeptRecord {
    var record = keeping([])
    record.attachmentBytes = attachmentBytes
    return record
  }

  var hasContent: Bool { attachments.contains { $0.source != nil } }
}

/// An entry of the inbox that its app has not answered.
public struct WaitingEntry: Sendable, Equatable {
  public let continuation: Identifier
  /// Whether an older snapshot was handed over (R2.4).
  public let isStale: Bool

  public init(_ continuation: Identifier, isStale: Bool) {
    (self.continuation, self.isStale) = (continuation, isStale)
  }
}

/// A request of the agent to its inbox. A request that has a reply has exactly one.
public enum InboxRequest: Sendable {
  /// The first request. Reply: `opened`.
  case open
  /// Looks for an entry of the same activity for the same app, and lets that app get it again though it has crashed on
  /// it: somebody asks for it once more (R3.8). The first identifier is the requester's. Reply: `shared`.
  case share(Identifier, activity: Identifier, origin: Identifier, app: String)
  /// Stores an entry. If its app is not open, its next delivery begins in the same commit. Reply: `put`.
  case put(InboxRecord, begins: Bool)
  /// Begins to deliver the next entry for a bundle identifier, but none of these. Reply: `begun`.
  case begin(app: Identifier, bundle: String, except: [Identifier])
  /// Reads the document of an entry. Reply: `loaded`.
  case load(Identifier, app: Identifier)
  /// Notes that an app was sent the whole document of an entry. Reply only if that fails: `refused`.
  case sent(Identifier, app: Identifier)
  /// Ends a delivery without an acknowledgement. Reply only if that fails: `refused`.
  case end(Identifier, DeliveryEnd)
  /// Ends an entry for good, and decides its receipt unless there is one. Reply: `acknowledged`; or `disbelieved`, if
  /// the app says that it has restored what it was not sent whole: neither by this agent (`wasSent`), nor by one of
  /// which the disk knows it.
  case acknowledge(Identifier, app: Identifier, wasSent: Bool, Receipt)
  /// Decides the receipt of an entry unless there is one. Reply: `decided`.
  case decide(Receipt)
  /// The origin has the receipt. Reply only if that cannot be stored: `refused`.
  case confirm(Identifier)
  /// Loads the activities that are kept from before a restart. Reply: `loadedKept`.
  case loadKept
  /// Keeps what an app has left, in place of an older state of the same activity. Reply: `kept`.
  case keep(KeptRecord)
  /// Forgets the activity that an app has left. Reply: `withdrawn`.
  case withdraw(Identifier)
  /// Notes how the continuation of a retained activity has ended (R14.5). Reply: `settled`.
  case settle(Identifier, revision: UInt64, Receipt)

  /// The bytes that it holds.
  public var size: Int {
    switch self {
    case .put(let record, _): record.document.count
    case .keep(let record): record.document.count
    default: 0
    }
  }

  /// Whether one of the two is enough.
  func asksSame(as other: InboxRequest) -> Bool {
    switch (self, other) {
    case (.open, .open): true
    case (.begin(let app, _, _), .begin(let other, _, _)): app == other
    case (.end(let id, _), .end(let other, _)), (.confirm(let id), .confirm(let other)): id == other
    case (.sent(let id, let app), .sent(let other, let otherApp)): id == other && app == otherApp
    case (.acknowledge(let id, let app, _, _), .acknowledge(let other, let otherApp, _, _)):
      id == other && app == otherApp
    default: false
    }
  }
}

public enum InboxReply: Sendable {
  case opened(Result<[OwedReceipt], SegueError>)
  /// The oldest such entry; nil: there is none that is unanswered.
  case shared(Identifier, Result<WaitingEntry?, SegueError>)
  /// The entry whose delivery has begun; nil: none.
  case put(Identifier, Result<InboxItem?, SegueError>)
  /// Nil: there is none, or another process of that app has one.
  case begun(app: Identifier, Result<InboxItem?, SegueError>)
  case loaded(Identifier, app: Identifier, Result<[UInt8], SegueError>)
  /// The entry's receipt and where it goes if it was decided now; nil if it was before, or the entry had ended.
  case acknowledged(Identifier, app: Identifier, Result<OwedReceipt?, SegueError>)
  case disbelieved(Identifier, app: Identifier)
  /// Whether it was decided now.
  case decided(Identifier, Result<Bool, SegueError>)
  /// A request that has no other reply has failed.
  case refused(SegueError)
  case loadedKept(Result<[KeptRecord], SegueError>)
  case kept(Identifier, SegueError?)
  case withdrawn(Identifier, SegueError?)
  case settled(Identifier, SegueError?)
}
