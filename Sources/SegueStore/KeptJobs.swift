// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueWire

/// The offers that apps leave with the agent (R2.5).
enum KeptJobs {
  static func keep(_ record: KeptRecord, _ holder: some InboxHolder) throws(SegueError) {
    // The device and the rank are of the hub that offers it.
    let offer = Offer(
      description: record.description, origin: record.app.id, appName: record.app.name,
      bundleIdentifier: record.app.bundleIdentifier, deviceName: "", rank: 0, activatedAt: 0)
    let attachments = record.attachments.map { attachment in
      AttachmentContent(
        name: attachment.name, size: attachment.size,
        source: attachment.source.map { holder.content(of: $0) } ?? .origin)
    }
    try holder.perform { inbox throws(SegueError) in
      try InboxJobs.expire(inbox, holder)
      // A retained offer ends by uptime (R14.5): no date deletes it but its own.
      try inbox.keep(
        offer, team: record.app.team, document: record.document, attachments: attachments, at: record.keptAt,
        life: record.retained == nil ? Limits.keptOfferLife : .greatestFiniteMagnitude,
        retained: record.retained.map { KeptOffer.Retained(origin: $0) })
    }
  }

  static func load(_ holder: some InboxHolder) throws(SegueError) -> [KeptRecord] {
    try holder.perform { inbox throws(SegueError) in
      try InboxJobs.expire(inbox, holder)
      var records: [KeptRecord] = []
      // Also what has expired by a date that may be wrong.
      for kept in try inbox.keptOffers() {
        let offer = kept.offer
        let app = AppIdentity(
          known: offer.origin, bundleIdentifier: offer.bundleIdentifier, name: offer.appName, team: kept.team,
          types: [])
        let document = try inbox.document(of: kept.payload)
        do throws(SegueError) {
          records.append(
            try KeptRecord(
              offer.description.id, of: app, document: document, keptAt: kept.keptAt,
              attachmentBytes: kept.payload.attachments.reduce(0) { $0 &+ ($1.isHere ? $1.size : 0) },
              retained: kept.retained?.origin, expirationDate: offer.description.expirationDate,
              receipt: kept.retained?.receipt))
        } catch {
          // A document of a version that this agent does not know: the others are not lost with it.
          holder.log(.error, "what \(offer.appName) has left cannot be read: \(error.message)")
        }
      }
      return records
    }
  }
}
