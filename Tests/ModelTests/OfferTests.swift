// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@Suite struct OfferTests {
  private static let id = Identifier(high: 1, low: 2)

  private func description(
    id: Identifier = id, type: String = "t", title: String? = "title", version: UInt32 = 1, size: UInt64 = 700,
    expiring: Double? = nil, streams: Bool = false, page: String? = nil
  ) -> OfferDescription {
    OfferDescription(
      id: id, type: type, title: title, payloadVersion: version, sizeHint: size, expirationDate: expiring,
      supportsContinuationStreams: streams, webOrigin: WebOrigin.of(page))
  }

  private func offer(
    _ described: OfferDescription, origin: Identifier = id, app: String = "a", bundle: String = "b",
    device: String = "d", rank: UInt64 = 1, at: Int64 = 5
  ) -> Offer {
    Offer(
      description: described, origin: origin, appName: app, bundleIdentifier: bundle, deviceName: device, rank: rank,
      activatedAt: at)
  }

  @Test func `a change of anything that a receiver sees is one (R2.8)`() {
    let plain = description()
    let other = Identifier(high: 1, low: 3)
    for changed in [
      description(id: other), description(type: "u"), description(title: nil), description(title: "other"),
      description(version: 2), description(expiring: 1), description(streams: true), description(size: 1_024),
      description(page: "https://example.com/a"), plain.marked(isPrivate: true, webOrigin: nil),
      plain.marked(isPrivate: false, webOrigin: nil, isPublic: true),
      plain.marked(isPrivate: false, webOrigin: nil, contentType: "a/b"),
      plain.marked(isPrivate: false, webOrigin: nil, label: "window"),
    ] {
      #expect(plain != changed)
      #expect(offer(plain) != offer(changed))
    }
    for changed in [
      offer(plain, origin: other), offer(plain, app: "x"), offer(plain, bundle: "x"), offer(plain, device: "x"),
      offer(plain, rank: 2),
    ] { #expect(offer(plain) != changed) }
  }

  @Test func `a size that moves within its order of magnitude is none, nor is the age (R2.1, R2.8)`() {
    #expect(description(size: 512) == description(size: 1_023))
    #expect(description(size: 0) != description(size: 1))
    #expect(offer(description(), at: 5) == offer(description(), at: 6))
  }

  @Test func `another page of the same site is no change of the offer, one of another site is (R12.1)`() {
    #expect(description(page: "https://example.com/a") == description(page: "https://example.com/b?c"))
    #expect(description(page: "https://example.com/a") != description(page: "https://example.org/a"))
  }

  @Test func `titles are compared as bytes (R1.2)`() {
    #expect(description(title: "\u{e9}") != description(title: "e\u{301}"))
  }

  @Test func `the same offer by another clock differs in its date alone (R1.6)`() {
    let moved = description(version: 3, streams: true, page: "http://a/b").expiring(12)
    #expect(moved == description(version: 3, expiring: 12, streams: true, page: "http://a"))
    #expect(moved.sizeHint == 700)
  }
}
