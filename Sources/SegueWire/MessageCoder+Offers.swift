// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Offers in messages, and where they come from.
extension MessageCoder {
  mutating func code(_ origin: OfferOrigin?, isLast: Bool) -> OfferOrigin? {
    guard hasValue(origin != nil, isLast: isLast) else { return nil }
    let origin = origin ?? OfferOrigin(team: "", activation: 0, version: .blank)
    enter("an origin")
    let coded = OfferOrigin(
      team: code(origin.team), activation: code(origin.activation), version: code(origin.version),
      retained: code(origin.retained))
    leave()
    return coded
  }

  private mutating func code(_ retained: RetainedOrigin?) -> RetainedOrigin? {
    guard hasValue(retained != nil, isLast: true) else { return nil }
    enter("a retained origin")
    let (device, activity) = (code(retained?.device ?? .blank), code(retained?.activity ?? .blank))
    let (revision, proof) = (code(retained?.revision ?? 0), code(bytes: retained?.proof ?? []))
    let push = code(retained?.push)
    leave()
    if isReading, proof.count != RetainedOrigin.proofSize { fail("a proof") }
    return RetainedOrigin(device: device, activity: activity, revision: revision, push: push, proof: proof)
  }

  /// The last elements of a retained origin.
  private mutating func code(_ push: RetainedPush?) -> RetainedPush? {
    guard hasValue(push != nil, isLast: true) else { return nil }
    let (id, target) = (code(push?.id ?? .blank), code(push?.target ?? .blank))
    let app = hasValue(push?.app != nil, isLast: true) ? code(push?.app ?? "") : nil
    return RetainedPush(id: id, target: target, app: app)
  }

  mutating func code(_ version: OffersVersion) -> OffersVersion {
    OffersVersion(hub: code(version.hub), number: code(version.number))
  }

  mutating func code(enclosed version: OffersVersion?) -> OffersVersion? {
    guard hasValue(version != nil, isLast: true) else { return nil }
    enter("a version")
    let coded = code(version ?? .blank)
    leave()
    return coded
  }

  mutating func code(_ offer: OfferDescription, _ timing: OfferTiming) -> (OfferDescription, OfferTiming) {
    let id = code(offer.id)
    let type = code(offer.type, atMost: Limits.type)
    let title = hasValue(offer.title != nil) ? code(offer.title ?? "", atMost: Limits.title) : nil
    let version = code(offer.payloadVersion, "a payload version")
    let sizeHint = code(offer.sizeHint)
    let age = code(milliseconds: timing.age)
    let remaining =
      hasValue(timing.remaining != nil)
      ? code(milliseconds: timing.remaining ?? 0, atMost: UInt64(OfferTiming.longest)) : nil
    let description = OfferDescription(
      id: id, type: type, title: title, payloadVersion: version, sizeHint: sizeHint, expirationDate: nil,
      supportsContinuationStreams: code(offer.supportsContinuationStreams))
    return (description, OfferTiming(age: age, remaining: remaining))
  }

  /// The last elements of a message with an offer, each left out if neither it nor a further one has a value.
  mutating func code(marksOf offer: OfferDescription, in coded: OfferDescription) -> OfferDescription {
    let count = offer.markCount
    let isPrivate = hasValue(offer.isPrivate, isLast: count < 1) && code(offer.isPrivate)
    var webOrigin: WebOrigin?
    if hasValue(offer.webOrigin != nil, isLast: count < 2) {
      let text = code(offer.webOrigin?.text ?? "", atMost: Limits.webOrigin)
      webOrigin = isReading ? WebOrigin.read(text) : offer.webOrigin
      if webOrigin == nil { fail("the origin of a web page") }
    }
    let isPublic = hasValue(offer.isPublic, isLast: count < 3) && code(offer.isPublic)
    let contentType = code(optional: offer.contentType, atMost: Limits.type, isLast: count < 4)
    let label = code(optional: offer.label, atMost: Limits.label, isLast: true)
    return coded.marked(
      isPrivate: isPrivate, webOrigin: webOrigin, isPublic: isPublic, contentType: isPublic ? contentType : nil,
      label: label)
  }

  mutating func code(_ offer: Offer, _ timing: OfferTiming) -> (Offer, OfferTiming) {
    let (description, timing) = code(offer.description, timing)
    let origin = code(offer.origin)
    let appName = code(offer.appName)
    let bundleIdentifier = code(offer.bundleIdentifier)
    let deviceName = code(offer.deviceName)
    let rank = code(offer.rank)
    guard isReading else { return (offer, timing) }
    let coded = Offer(
      description: description, origin: origin, appName: appName, bundleIdentifier: bundleIdentifier,
      deviceName: deviceName, rank: rank, activatedAt: 0)
    return (coded, timing)
  }
}
