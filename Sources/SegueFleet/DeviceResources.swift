/// What the system of a simulated device has left for its processes.
struct DeviceResources {
  /// Descriptors that a process may have: many, or few for a time.
  private static let manyDescriptors = 1_024
  static let fewDescriptors = 64
  private var scarceUntil: Int64 = 0
  /// Probability that a write is refused, and uptime until which it counts.
  private var refusal = 0.0
  private var refusesUntil: Int64 = 0

  mutating func refuseWrites(_ probability: Double, until uptime: Int64) {
    refusal = probability
    refusesUntil = uptime
  }

  mutating func makeScarce(until uptime: Int64) { scarceUntil = uptime }

  func descriptorLimit(at uptime: Int64) -> Int { uptime < scarceUntil ? Self.fewDescriptors : Self.manyDescriptors }

  /// Probability that a write is refused now.
  func refusal(at uptime: Int64) -> Double { uptime < refusesUntil ? refusal : 0 }
}

extension FleetDevice {
  /// For so many milliseconds its system refuses writes now and then: it has no memory for them.
  func refuseWrites(_ probability: Double, for milliseconds: Int64) {
    fleet.trace(name, "refuses writes")
    resources.refuseWrites(probability, until: fleet.clock.uptime + milliseconds)
    fleet.disturb(for: milliseconds + Fleet.agreementTime)
  }

  /// For so many milliseconds its processes may have few descriptors.
  func limitDescriptors(for milliseconds: Int64) {
    fleet.trace(name, "has few descriptors")
    resources.makeScarce(until: fleet.clock.uptime + milliseconds)
    fleet.disturb(for: milliseconds + Fleet.agreementTime)
  }

  /// For so many milliseconds the process of its hub gets no descriptor for another connection.
  func exhaustDescriptors(for milliseconds: Int64) {
    guard let hub else { return }
    fleet.trace(hub.process.name, "has no descriptor left")
    hub.exhaustedUntil = fleet.clock.uptime + milliseconds
    fleet.disturb(for: milliseconds + Fleet.agreementTime)
  }
}
