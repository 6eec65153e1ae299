// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The small description of an activity that other apps get, as its origin describes it (R2.1).
public struct OfferDescription: Sendable, Equatable {
  /// The activity's.
  public private(set) var id: Identifier
  public private(set) var type: String
  public let title: String?
  public let payloadVersion: UInt32
  /// The known size of the payload, in bytes.
  public let sizeHint: UInt64
  /// Seconds since 1970, by the clock of the device that holds this description.
  public private(set) var expirationDate: Double?
  public let supportsContinuationStreams: Bool
  /// Whether no other device gets it (R10.2).
  public private(set) var isPrivate: Bool
  /// The origin of the activity's web page (R12.1); nil: it has none.
  public private(set) var webOrigin: WebOrigin?
  /// Whether apps of other teams may continue it (R13.1). Its origin says so: the type does not count.
  public private(set) var isPublic: Bool
  /// The MIME type of what a public activity shows; nil: it says none.
  public private(set) var contentType: String?
  /// For people: the window or terminal of its app (R13.6); nil: it has none.
  public private(set) var label: String?

  public init(
    id: Identifier, type: String, title: String?, payloadVersion: UInt32, sizeHint: UInt64,
    expirationDate: Double?, supportsContinuationStreams: Bool, isPrivate: Bool = false, webOrigin: WebOrigin? = nil,
    isPublic: Bool = false, contentType: String? = nil, label: String? = nil
  ) {
    self.id = id
    self.type = type
    self.title = title
    self.payloadVersion = payloadVersion
    self.sizeHint = sizeHint
    self.expirationDate = expirationDate
    self.supportsContinuationStreams = supportsContinuationStreams
    self.isPrivate = isPrivate
    self.webOrigin = webOrigin
    self.isPublic = isPublic
    self.contentType = contentType
    self.label = label
  }

  /// The same description with the expiration date by another clock.
  public func expiring(_ date: Double?) -> OfferDescription {
    var description = self
    description.expirationDate = date
    return description
  }

  /// The same description under another identifier.
  public func named(_ id: Identifier) -> OfferDescription {
    var description = self
    description.id = id
    return description
  }

  /// The same description with other marks: what earlier hubs and apps do not know.
  public func marked(
    isPrivate: Bool, webOrigin: WebOrigin?, isPublic: Bool = false, contentType: String? = nil, label: String? = nil
  ) -> OfferDescription {
    var description = self
    description.isPrivate = isPrivate
    description.webOrigin = webOrigin
    description.isPublic = isPublic
    description.contentType = contentType
    description.label = label
    return description
  }

  /// The number of marks up to the last one that has a value.
  public var markCount: Int {
    if label != nil { return 5 }
    if contentType != nil { return 4 }
    if isPublic { return 3 }
    return webOrigin != nil ? 2 : isPrivate ? 1 : 0
  }

  /// The bytes of the texts that its origin chooses.
  public var textSize: Int {
    var size = Text.size(type)
    for text in [title, webOrigin?.text, contentType, label] { size += text.map(Text.size) ?? 0 }
    return size
  }

  /// Whether receivers can ignore the difference: the size hint alone changes all the time (R2.8).
  public static func == (left: OfferDescription, right: OfferDescription) -> Bool {
    left.id == right.id && Text.isSame(left.type, right.type) && Text.isSame(left.title, right.title)
      && left.payloadVersion == right.payloadVersion && left.magnitude == right.magnitude
      && left.expirationDate == right.expirationDate
      && left.supportsContinuationStreams == right.supportsContinuationStreams && left.isPrivate == right.isPrivate
      && WebOrigin.isSame(left.webOrigin, right.webOrigin) && left.isPublic == right.isPublic
      && Text.isSame(left.contentType, right.contentType) && Text.isSame(left.label, right.label)
  }

  /// The binary order of magnitude of the size.
  private var magnitude: Int { UInt64.bitWidth - sizeHint.leadingZeroBitCount }
}

/// An activity that another app offers, as a receiver sees it. A class, because it is passed on often.
public final class Offer: Sendable, Equatable {
  public let description: OfferDescription
  /// The origin.
  public let origin: Identifier
  public let appName: String
  public let bundleIdentifier: String
  public let deviceName: String
  /// Higher if made current later: the highest is the frontmost (R1.12).
  public let rank: UInt64
  /// The holder's uptime in milliseconds at which the activity was made current.
  public let activatedAt: Int64

  public init(
    description: OfferDescription, origin: Identifier, appName: String, bundleIdentifier: String,
    deviceName: String, rank: UInt64, activatedAt: Int64
  ) {
    self.description = description
    self.origin = origin
    self.appName = appName
    self.bundleIdentifier = bundleIdentifier
    self.deviceName = deviceName
    self.rank = rank
    self.activatedAt = activatedAt
  }

  /// The same offer, described in other words.
  public func described(_ description: OfferDescription) -> Offer {
    Offer(
      description: description, origin: origin, appName: appName, bundleIdentifier: bundleIdentifier,
      deviceName: deviceName, rank: rank, activatedAt: activatedAt)
  }

  /// Whether a user would see no difference; the time of activation is only as exact as the clocks.
  public static func == (left: Offer, right: Offer) -> Bool {
    left.description == right.description && left.origin == right.origin && left.rank == right.rank
      && Text.isSame(left.appName, right.appName) && Text.isSame(left.deviceName, right.deviceName)
      && Text.isSame(left.bundleIdentifier, right.bundleIdentifier)
  }
}
