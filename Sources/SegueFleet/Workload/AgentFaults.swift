// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The random events of agents in a workload: in every other one, agents come and go, die, are stopped and replaced.
struct AgentFaults {
  private var trigger: RandomTrigger

  init(seed: UInt64) { trigger = RandomTrigger(seed: seed, salt: 0xa9e7_7a9e_a9e7_7a9e, share: 0.5) }

  /// Once per event of the workload.
  mutating func act(on devices: [FleetDevice]) {
    guard trigger.fires(0.1) else { return }
    let device = devices[trigger.random.below(devices.count)]
    guard let agent = device.agent else { return device.startAgent() }
    switch trigger.random.below(10) {
    case 0..<3: agent.kill()
    case 3..<5: agent.leave()
    case 5..<6:
      // Its upgrade.
      agent.leave()
      device.startAgent()
    case 6..<7: agent.kill(leavingChildFor: trigger.random.within(500, 20_000))
    case 7..<9: agent.stall(for: trigger.random.within(1, 8_000))
    default: agent.resume()
    }
  }
}
