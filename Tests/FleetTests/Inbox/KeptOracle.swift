// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueFleet

extension KeptRecord {
  /// The date at which it expires.
  fileprivate var expiresAt: Double {
    let latest = keptAt + Limits.keptOfferLife
    return description.expirationDate.map { min($0, latest) } ?? latest
  }
}

/// Knows what the disks of a fleet keep of what apps have left with their agents, and who has withdrawn it. The rule
/// (R2.5): what a disk has acknowledged is offered again after the app has gone, and after the agent has died, with the
/// attachments that came with it; what was withdrawn is never offered again.
final class KeptOracle {
  /// A record that a disk keeps.
  private struct Kept {
    let record: KeptRecord
    let device: FleetDevice
  }

  /// An app that has ended, and had left an activity since a date, on the clock of its device.
  private struct End {
    let app: AppIdentity
    let device: FleetDevice
    let activity: Identifier
    let since: Double
  }

  /// An app has made an activity current, or has come to the foreground with it.
  private struct Start {
    let app: AppIdentity
    let device: FleetDevice
    let activity: Identifier
    let date: Double

    /// Whether what an app has left may end by it.
    func mayEnd(_ end: End) -> Bool {
      guard app.id != end.app.id else { return false }
      return activity == end.activity || device === end.device && app.isSameApp(as: end.app) && date >= end.since
    }
  }

  private unowned let fleet: Fleet
  private unowned let oracle: InboxOracle
  private var kept: [Kept] = []
  private var ends: [End] = []
  private var starts: [Start] = []
  /// The records that agents have offered, and the origins of these offers.
  private var offered: [(origin: Identifier, device: FleetDevice, record: KeptRecord)] = []

  init(_ fleet: Fleet, _ oracle: InboxOracle) {
    self.fleet = fleet
    self.oracle = oracle
  }

  // MARK: Kept records

  private func index(of activity: Identifier, on device: FleetDevice) -> Int? {
    kept.firstIndex { $0.device === device && $0.record.activity == activity }
  }

  /// The records that a disk keeps, and that have not expired.
  func records(on device: FleetDevice) -> [KeptRecord] {
    kept.filter { $0.device === device && $0.record.expiresAt > device.now.date }.map { $0.record }
  }

  /// The activities that the agent of a device has to offer: those that apps have left before they went, unless
  /// something else ends them.
  func owed(on device: FleetDevice) -> [Identifier] {
    records(on: device).filter { isOwed($0, on: device) }.map { $0.activity }
  }

  private func isOwed(_ record: KeptRecord, on device: FleetDevice) -> Bool {
    ends.contains { end in
      end.device === device && end.app.id == record.app.id && end.activity == record.activity
        && record.keptAt >= end.since && !starts.contains { $0.mayEnd(end) }
    }
  }

  // MARK: The disk

  /// The disk has done what an agent asked for, or has refused.
  func note(_ request: InboxRequest, _ reply: InboxReply?, on device: FleetDevice) {
    switch (request, reply) {
    case (.keep(let record), .kept(_, nil)):
      if let index = index(of: record.activity, on: device) { kept.remove(at: index) }
      kept.append(Kept(record: record, device: device))
      oracle.meet("kept")
    case (.withdraw(let activity), .withdrawn(_, nil)): forgotten(activity, on: device)
    case (.loadKept, .loadedKept(.success(let found))): loaded(found, on: device)
    case (.loadKept, .loadedKept(.failure)): oracle.meet("the disk does not say what is kept")
    default: break
    }
  }

  private func forgotten(_ activity: Identifier, on device: FleetDevice) {
    guard let index = index(of: activity, on: device) else { return }
    let record = kept.remove(at: index).record
    if isOwed(record, on: device), record.expiresAt > device.now.date {
      fleet.report(device.name, "R2.5: what an app has left is forgotten, and the app has gone")
    }
  }

  private func loaded(_ found: [KeptRecord], on device: FleetDevice) {
    if !found.isEmpty { oracle.meet("kept over a restart") }
    let wanted = records(on: device).map { $0.activity }
    for record in found where !wanted.contains(record.activity) && record.expiresAt > device.now.date {
      fleet.report(device.name, "R2.5: what was withdrawn is kept after a restart")
    }
    for record in found {
      guard let index = index(of: record.activity, on: device) else { continue }
      if record.attachmentBytes != kept[index].record.attachmentBytes {
        fleet.report(device.name, "R2.5: attachments that were kept are lost by a restart")
      }
    }
    for activity in wanted where !found.contains(where: { $0.activity == activity }) {
      fleet.report(device.name, "R2.5: what was kept is lost by a restart")
    }
  }

  // MARK: Apps and users

  /// An app has ended, and had left this activity since a date.
  func ended(_ app: AppIdentity, on device: FleetDevice, leaving activity: Identifier, since: Double) {
    ends.append(End(app: app, device: device, activity: activity, since: since))
  }

  /// An app makes an activity current, or comes to the foreground with one.
  func current(_ activity: Identifier, of app: AppIdentity, on device: FleetDevice) {
    starts.append(Start(app: app, device: device, activity: activity, date: device.now.date))
  }

  /// The user withdraws it: it may go from the disk.
  func withdraws(_ activity: Identifier) { ends.removeAll { $0.activity == activity } }

  /// - Parameter error: what the user is told.
  func withdrawn(_ activity: Identifier, _ error: SegueError?, on device: FleetDevice) {
    guard error == nil else { return oracle.meet("not withdrawn") }
    oracle.meet("withdrawn")
    if index(of: activity, on: device) != nil {
      fleet.report(device.name, "R2.5: the user hears that it is withdrawn, and the disk has it")
    }
  }

  // MARK: Agents

  /// An agent begins to offer what was left.
  /// - Parameter origin: the name under which receivers know it.
  func offers(_ activity: Identifier, as origin: Identifier, on device: FleetDevice) {
    oracle.meet("offered for an app that has gone")
    guard let index = index(of: activity, on: device) else {
      return fleet.report(device.name, "R2.5: the agent offers what its disk does not keep")
    }
    offered.append((origin, device, kept[index].record))
  }

  func isOffered(by origin: Identifier) -> Bool { offered.contains { $0.origin == origin } }

  /// An app has fetched an attachment of what an agent offers for an app that has gone, or could not.
  func violation(
    by attachment: Attachment, of from: ContinuedFrom, _ bytes: [UInt8], _ error: SegueError?, at device: FleetDevice
  ) -> StaticString? {
    guard let offer = offered.first(where: { $0.origin == from.offer.origin }) else { return nil }
    func isKept(_ record: KeptRecord) -> Bool {
      record.attachments.contains { $0.name == attachment.name && $0.source != nil }
    }
    let now = index(of: offer.record.activity, on: offer.device).map { kept[$0].record }
    guard let error else {
      guard isKept(offer.record) || now.map(isKept) ?? false else {
        return "R2.5: an attachment comes that is not kept"
      }
      let content = CollectedBytes.content(of: attachment)
      if bytes == content {
        oracle.meet("an attachment of a kept offer")
        if offer.device !== device { oracle.meet("an attachment of a kept offer, over a link") }
        return nil
      }
      // A link that breaks may cut it off (R7.4). The library asks for the rest then, as its size and digest say.
      return offer.device !== device && content.starts(with: bytes) ? nil : "R7.6: an app gets another attachment"
    }
    guard error.status == .notFound else { return nil }
    if !isKept(offer.record) { oracle.meet("an attachment that was not kept") }
    let isSame = now.map { $0.keptAt == offer.record.keptAt } ?? false
    return isSame && isKept(offer.record) ? "R2.5: an attachment that was kept is lost" : nil
  }
}
