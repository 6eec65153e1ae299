// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The account and its devices, as they are told to users.
extension DeviceService {
  typealias Entries = [(key: Value, value: Value)]

  func state() throws(SegueError) -> Entries {
    var joins: [Value] = []
    for join in self.joins.open { joins.append(try .dictionary(try AccountJoins.entries(of: join))) }
    var (status, message): (StaticString, SegueError?) = ("none", problem)
    switch snapshot.status {
    case .none: break
    case .member: (status, message) = ("member", snapshot.advice ?? problems.removal ?? problem)
    case .unusable(let error): (status, message) = ("unusable", error)
    }
    var entries: Entries = [
      (key: .string("status"), value: .string(String(joining: "\(status)"))),
      (key: .string("settings"), value: try settings.value()),
      (key: .string("joins"), value: try .array(joins)),
      (key: .string("notices"), value: try notices.value()),
    ]
    if let message { entries.append((key: .string("message"), value: .string(message.message))) }
    if let identity = snapshot.identity, let name = snapshot.name { entries += try accountEntries(identity, name) }
    return entries
  }

  private func accountEntries(_ identity: DeviceIdentity, _ name: String) throws(SegueError) -> Entries {
    var devices: [Value] = []
    var room = Limits.reportedPaths
    for device in snapshot.devices { devices.append(try value(of: device, &room)) }
    var takeOvers: [Value] = []
    for each in snapshot.takeOvers {
      var entries = try Self.entries(of: each.device, each.name, at: each.date)
      entries.append((key: .string("term"), value: .integer(Int64(clamping: each.term))))
      entries.append((key: .string("digest"), value: .data(each.digest)))
      takeOvers.append(try .dictionary(entries))
    }
    var refused: [Value] = []
    for each in snapshot.refused {
      refused.append(try .dictionary(try Self.entries(of: each.device, each.name, at: each.date)))
    }
    return [
      (key: .string("account"), value: .uuid(identity.account)),
      (key: .string("account_name"), value: .string(name)),
      (key: .string("device"), value: .uuid(identity.device)),
      (key: .string("manager"), value: .bool(snapshot.isManager)),
      (key: .string("port"), value: .integer(Int64(port))),
      (key: .string("devices"), value: try .array(devices)),
      (key: .string("invites"), value: .integer(Int64(snapshot.invites.count))),
      (key: .string("takeovers"), value: try .array(takeOvers)),
      (key: .string("refused"), value: try .array(refused)),
    ]
  }

  private static func entries(of device: Identifier, _ name: String?, at date: Int64) throws(SegueError) -> Entries {
    var entries: Entries = [
      (key: .string("device"), value: .uuid(device)), (key: .string("fingerprint"), value: .string(device.fingerprint)),
      (key: .string("date"), value: try .date(Double(date))),
    ]
    if let name { entries.append((key: .string("name"), value: .string(name))) }
    return entries
  }

  private func value(of device: DeviceDescription, _ room: inout Int) throws(SegueError) -> Value {
    let path = links?.path(to: device.id)
    var entries: Entries = [
      (key: .string("device"), value: .uuid(device.id)),
      (key: .string("name"), value: .string(device.name)),
      (key: .string("platform"), value: .string(device.platform)),
      (key: .string("this_device"), value: .bool(device.isThisDevice)),
      (key: .string("manager"), value: .bool(device.isManager)),
      (key: .string("confirmed"), value: .bool(device.isConfirmed)),
      (key: .string("linked"), value: .bool(path != nil)),
      (key: .string("joined"), value: try .date(Double(device.joined))),
      (key: .string("certificate_ends"), value: try .date(Double(device.certificateEnds))),
    ]
    if let fingerprint = device.fingerprint {
      entries.append((key: .string("fingerprint"), value: .string(fingerprint)))
    }
    if device.isOutdated { entries.append((key: .string("outdated"), value: .bool(true))) }
    if let address = path?.address { entries.append((key: .string("address"), value: .string(address.text))) }
    if let record = settings.records[device.id], !record.addresses.isEmpty {
      entries.append((key: .string("addresses"), value: try .array(record.addresses.map { .string($0.text) })))
    }
    if let avoided = settings.records[device.id]?.avoided, !avoided.isEmpty {
      entries.append((key: .string("avoided"), value: try PathCost.value(of: avoided)))
    }
    let paths = try pathValues(of: device.id, &room)
    if !paths.isEmpty { entries.append((key: .string("paths"), value: try .array(paths))) }
    if let kept = retention.kept(by: device.id) {
      entries.append((key: .string("retains"), value: .integer(Int64(kept.count))))
      if let problem = kept.problem {
        entries.append((key: .string("retains_problem"), value: .string(problem.message)))
      }
    }
    let pushes = retention.keptPushes(by: device.id)
    if pushes > 0 { entries.append((key: .string("retains_pushes"), value: .integer(Int64(pushes)))) }
    let own = retention.retained(for: device.id)
    if own.offers > 0 { entries.append((key: .string("retained_here"), value: .integer(Int64(own.offers)))) }
    if own.pushes > 0 { entries.append((key: .string("pushes_here"), value: .integer(Int64(own.pushes)))) }
    if own.bytes > 0 {
      entries.append((key: .string("retained_bytes"), value: .integer(Int64(clamping: own.bytes))))
    }
    if let date = lastSigns[device.id] { entries.append((key: .string("last_seen"), value: try .date(date))) }
    return try .dictionary(entries)
  }
}
