// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The open apps that end a kept offer: those that offer its activity, or have made another one current since.
extension KeptOffers {
  /// An app offers an activity, or has opened: until the disk has said what is kept, the activity may end what another
  /// process of the app has left, also when it is gone itself by then.
  func note(_ activity: Identifier? = nil, of id: Identifier) {
    guard !load.isDone, let (app, principal) = deliveries.app(id) else { return }
    let offers = activity.map { seen.list[$0].map { [$0] } ?? [] } ?? seen.list.all
    let latest = offers.filter { $0.origin == id && agent.origins.isOfThisDevice($0.description.id) }
      .map { $0.activatedAt }.max()
    if let latest { load.noteCurrent(of: app, at: latest, principal: principal) }
  }

  /// Another process of an app has made an activity current, at an uptime.
  func supersede(by app: AppIdentity, at: Int64, _ now: Instant) {
    let open = deliveries.identities
    while let index = kept.firstIndex(where: { each in
      let former = each.record.app
      return each.since < at && former.id != app.id && former.isSameApp(as: app)
        && !open.contains { $0.id == former.id }
    }) {
      remove(at: index, now)
    }
  }

  /// Whether the app has made another activity current since, in another process of this device. Neither another device
  /// nor a hub behind an app's link says that for it.
  func isSuperseded(_ kept: KeptOffer, by open: [AppIdentity]) -> Bool {
    let app = kept.record.app
    for other in open
    where other.isSameApp(as: app) {
      let isNewer = seen.list.all.contains {
        $0.origin == other.id && $0.activatedAt > kept.since && agent.origins.isOfThisDevice($0.description.id)
      }
      if isNewer { return true }
    }
    return false
  }

  /// Whether an open app offers that activity, and has not left it: a name of an activity is known to all who see it.
  func isOthers(_ record: KeptRecord) -> Bool {
    let open = deliveries.identities
    return seen.list.all.contains { offer in
      offer.description.id == record.activity && offer.origin != record.app.id
        && open.contains { $0.id == offer.origin && !$0.isSameApp(as: record.app) }
    }
  }
}
