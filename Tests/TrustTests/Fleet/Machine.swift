import SegueModel

@testable import SegueTrust

/// A machine of the user: its disk and clock stay, its agent comes and goes, and it sleeps.
final class Machine: Host {
  let port: UInt16
  let cryptography: StandInCryptography
  private(set) var disk = MemoryStorage()
  private(set) var agent: SimulatedAgent?
  /// Seconds by which its clock is ahead.
  var clockOffset = 0.0 {
    didSet { fleet.trace(name, "has its clock ahead by", "\(Int(clockOffset)) s") }
  }
  /// The most milliseconds until what was written is on the disk.
  var slowness: Int64 = 5
  /// Addresses that its user has named.
  private(set) var addresses: [Address] = []
  /// Milliseconds that it has slept; while it sleeps, until then.
  private(set) var slept: Int64 = 0
  private var asleepAt: Int64 = 0

  init(_ name: String, _ number: Int, in fleet: AccountFleet) {
    port = UInt16(40_000 + number)
    cryptography = StandInCryptography(fleet.signatures, seed: fleet.seed &* 64 &+ UInt64(number))
    super.init(name, in: fleet)
  }

  /// Its uptime does not go on while it sleeps.
  var now: Instant {
    let now = fleet.clock.now
    let uptime = isAwake ? now.uptime : asleepAt
    return Instant(uptime: uptime - slept, date: now.date + clockOffset)
  }

  var listener: Address? { place.map { Address(place: $0, port: port) } }

  // MARK: The agent

  func start() {
    guard agent == nil else { return }
    disk = MemoryStorage(disk.file)
    fleet.trace(name, "starts")
    agent = SimulatedAgent(on: self)
  }

  /// - Parameter isPowerLost: nobody is told; otherwise the system closes its connections.
  func crash(isPowerLost: Bool) {
    guard let agent else { return }
    fleet.trace(name, isPowerLost ? "loses its power" : "has its agent killed")
    self.agent = nil
    agent.drop(isPowerLost: isPowerLost)
  }

  /// The machine has again what it had once.
  func restore(_ file: [UInt8]?) {
    crash(isPowerLost: true)
    fleet.trace(name, "is restored from a backup")
    disk = MemoryStorage(file)
    fleet.oracle.restored(self)
    start()
  }

  func name(addresses: [Address]) {
    self.addresses = addresses
    agent?.links?.setAddresses(addresses)
  }

  // MARK: Sleep, networks

  override func fallAsleep() {
    guard isAwake else { return }
    fleet.trace(name, "falls asleep")
    asleepAt = fleet.clock.uptime
    super.fallAsleep()
  }

  override func awake() {
    guard !isAwake else { return }
    slept += fleet.clock.uptime - asleepAt
    fleet.trace(name, "wakes up")
    super.awake()
    agent?.later(fleet.random.within(0, 10_000)) { [weak self] in self?.agent?.links?.act() }
  }

  override func move(to place: Place?) {
    guard place != self.place else { return }
    fleet.trace(name, "is at", place?.text ?? "no network")
    super.move(to: place)
    agent?.links?.networkChanged()
  }

  override func accept(_ wire: Wire, port: UInt16) -> Bool {
    port == self.port ? agent?.links?.accept(wire) ?? false : false
  }

  override func heard(_ beacon: [UInt8], from place: Place) { agent?.links?.heard(beacon, from: place) }
}
