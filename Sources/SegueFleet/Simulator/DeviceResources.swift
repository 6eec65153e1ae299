// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The limits and faults of the system of a simulated device.
struct DeviceResources {
  /// The descriptors that a process may have: many, or few for a time.
  var manyDescriptors = 1_024
  static let fewDescriptors = 64
  /// Whether a process can become the hub: the folder may be read-only.
  fileprivate(set) var admitsHubs = true
  /// The most connections that wait for a hub to accept them.
  var backlogLimit = FleetFolder.usualBacklog
  var hasUsualBacklog: Bool { backlogLimit == FleetFolder.usualBacklog }
  /// The probability that a process is stopped between locking a generation and listening.
  var openingStops = 0.0
  private var scarceUntil: Int64 = 0
  /// The probability that a write is refused, and until when.
  private var refusal = 0.0
  private var refusesUntil: Int64 = 0

  mutating func refuseWrites(_ probability: Double, until uptime: Int64) {
    refusal = probability
    refusesUntil = uptime
  }

  mutating func makeScarce(until uptime: Int64) { scarceUntil = uptime }

  func descriptorLimit(at uptime: Int64) -> Int { uptime < scarceUntil ? Self.fewDescriptors : manyDescriptors }

  /// The current probability that a write is refused.
  func refusal(at uptime: Int64) -> Double { uptime < refusesUntil ? refusal : 0 }
}

extension FleetDevice {
  /// The most milliseconds until a process retries what the system has refused.
  private static let refusalTime: Int64 = 16_000

  /// Whether a process can become the hub.
  var admitsHubs: Bool {
    get { resources.admitsHubs }
    set {
      guard newValue != admitsHubs else { return }
      resources.admitsHubs = newValue
      unsettle(isExpected: false, for: Self.refusalTime)
      if newValue { fleet.checker.resumed() } else { fleet.checker.stalled() }
      fleet.checker.disturb(for: Self.refusalTime + InvariantChecker.agreementTime)
    }
  }

  /// The system sometimes refuses writes for that many milliseconds, for lack of memory.
  func refuseWrites(_ probability: Double, for milliseconds: Int64) {
    fleet.trace(name, "refuses writes")
    resources.refuseWrites(probability, until: fleet.clock.uptime + milliseconds)
    unsettle(isExpected: false, for: milliseconds)
    fleet.checker.disturb(for: milliseconds + InvariantChecker.agreementTime)
  }

  /// Processes may have only few descriptors for that many milliseconds.
  func limitDescriptors(for milliseconds: Int64) {
    fleet.trace(name, "has few descriptors")
    resources.makeScarce(until: fleet.clock.uptime + milliseconds)
    unsettle(isExpected: false, for: milliseconds)
    fleet.checker.disturb(for: milliseconds + InvariantChecker.agreementTime)
  }

  /// The hub's process gets no descriptor for another connection for that many milliseconds.
  func exhaustDescriptors(for milliseconds: Int64) {
    guard let hub else { return }
    fleet.trace(hub.process.name, "has no descriptor left")
    hub.exhaustedUntil = fleet.clock.uptime + milliseconds
    unsettle(isExpected: false, for: milliseconds)
    fleet.checker.disturb(for: milliseconds + InvariantChecker.agreementTime)
  }
}
