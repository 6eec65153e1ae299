// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// Has the names of devices looked up while these are not linked, and passes on what is found (R14.2). For one thread.
final class DeviceNames {
  private let environment: any AgentEnvironment
  /// Nil: names are not looked up.
  private let resolver: (any NameResolver)?
  private var schedule = NameSchedule()
  private var isClosed = false

  init(in environment: any AgentEnvironment, _ resolver: (any NameResolver)?) {
    (self.environment, self.resolver) = (environment, resolver)
  }

  func set(_ entries: [NameSchedule.Entry]) { schedule.set(entries, environment.uptime) }
  func networkChanged() { schedule.networkChanged(environment.uptime) }
  func unlinked(_ device: Identifier) { schedule.unlinked(device, environment.uptime) }
  func failure(of entry: NameSchedule.Entry) -> String? { schedule.failure(of: entry) }

  /// The uptime at which `act` has something to do; nil: not before something else happens.
  func nextDeadline(linked: [Identifier]) -> Int64? {
    resolver == nil ? nil : schedule.nextDeadline(linked: linked)
  }

  /// Begins the look-ups that are due.
  /// - Parameter resolved: called with the addresses of a name, without ports, or with the reason for which there are
  ///   none; not after `close`.
  func act(linked: [Identifier], _ resolved: @escaping (NameSchedule.Entry, NameLookup) -> Void) {
    guard let resolver else { return }
    while !isClosed, let entry = schedule.takeDue(linked: linked, environment.uptime) {
      resolver.resolve(entry.name) { [self] lookup in
        guard !isClosed else { return }
        // The user may have taken it away meanwhile.
        let isKnown = schedule.entries.contains(entry)
        ended(entry, lookup)
        if isKnown { resolved(entry, lookup) }
      }
    }
  }

  private func ended(_ entry: NameSchedule.Entry, _ lookup: NameLookup) {
    switch lookup {
    case .addresses(let all): environment.log(.debug, "\(entry.name.text): has \(all.count) addresses")
    case .failed(let reason):
      if schedule.failure(of: entry) == nil { environment.log(.info, "looking up \(reason)") }
    }
    schedule.ended(entry, lookup, environment.uptime, random: environment.drawJitter())
  }

  /// Has later look-ups end in nothing.
  func close() { isClosed = true }
}
