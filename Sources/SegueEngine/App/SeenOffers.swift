// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The offers that an app sees, and their events.
final class SeenOffers: AppFeature {
  private let app: AppContext
  private(set) var list: OfferList

  init(_ app: AppContext) {
    self.app = app
    list = OfferList(bytesLimit: app.identity.isChooser ? OfferList.chooserLimit : OfferList.appLimit)
  }

  func put(_ offer: Offer, _ timing: OfferTiming, _ now: Instant) { list.put(offer, timing, now, report: deliver) }

  func remove(_ id: Identifier) { list.remove(id, report: deliver) }

  /// The hub has sent all offers.
  func becomeReady(_ now: Instant) {
    list.hubReady(now)
    app.deliver(.connection(isReady: true))
  }

  func disconnected(_ now: Instant) { list.hubLost(now) }

  func tick(_ now: Instant) { list.tick(now, report: deliver) }

  var nextDeadline: Int64? { list.nextDeadline }

  private func deliver(_ event: Delivery.OfferEvent, _ offer: Offer) { app.deliver(.offer(event, offer)) }
}
