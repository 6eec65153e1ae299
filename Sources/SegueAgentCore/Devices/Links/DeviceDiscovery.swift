// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// Announces this device on its networks, and hears other devices of the account. A network without multicast has
/// neither: addresses are static there. For one thread.
final class DeviceDiscovery {
  private let environment: any AgentEnvironment
  private let transport: any LinkTransport
  private let announcer: Announcer
  /// Whether beacons are sent and heard once it is open.
  private var isOn: Bool
  /// The other devices of the account.
  private(set) var others: [Identifier] = []
  /// Called with what a genuine beacon says, and the address that it came from; nil unless it is open.
  private var heard: ((BeaconCodec.News, NetworkAddress) -> Void)?
  /// Nil unless beacons are sent and heard.
  private var sockets: (any BeaconSockets)?

  /// - Parameters:
  ///   - epochs: those of the account, newest first.
  ///   - isOn: whether beacons are sent and heard.
  convenience init(
    _ epochs: [EpochKeys], isOn: Bool, in environment: any AgentEnvironment, over transport: any LinkTransport
  ) throws(SegueError) {
    self.init(try Announcer(epochs), isOn: isOn, environment, transport)
  }

  private init(
    _ announcer: Announcer, isOn: Bool, _ environment: any AgentEnvironment, _ transport: any LinkTransport
  ) {
    (self.announcer, self.isOn) = (announcer, isOn)
    (self.environment, self.transport) = (environment, transport)
  }

  func renew(_ epochs: [EpochKeys]) throws(SegueError) { try announcer.renew(epochs) }

  /// Sets the port of this device's listener.
  func setPort(_ port: UInt16) { announcer.port = port }

  /// Sets the other devices of the account.
  func setKnown(_ devices: [Identifier]) {
    others = devices
    announcer.setKnown(isOn ? others : [])
  }

  /// Starts to announce this device, until `close`.
  /// - Parameter heard: called with what a genuine beacon says, and the address that it came from.
  func open(_ interfaces: [NetworkInterface], _ heard: @escaping (BeaconCodec.News, NetworkAddress) -> Void) {
    self.heard = heard
    if isOn { openSockets(interfaces) }
  }

  /// Has beacons sent and heard, or no longer.
  func set(isOn: Bool, _ interfaces: [NetworkInterface]) {
    guard isOn != self.isOn else { return }
    self.isOn = isOn
    if isOn { openSockets(interfaces) } else { closeSockets() }
    setKnown(others)
  }

  func close() {
    heard = nil
    closeSockets()
  }

  private func openSockets(_ interfaces: [NetworkInterface]) {
    guard heard != nil else { return }
    // `closeSockets` ends it, and lets go of this object.
    let opened = transport.openBeacons { [self] bytes, address in
      if let news = announcer.read(bytes, at: environment.now.date) { heard?(news, address) }
    }
    opened.join(interfaces)
    sockets = opened
  }

  private func closeSockets() {
    sockets?.close()
    sockets = nil
  }

  func networkChanged(_ interfaces: [NetworkInterface], _ uptime: Int64) {
    sockets?.join(interfaces)
    announcer.networkChanged(uptime)
  }

  var nextDeadline: Int64? { announcer.nextDeadline }

  /// Sends a beacon if one is due.
  func announce(linked: [Identifier], _ uptime: Int64) {
    guard announcer.isDue(linked: linked, uptime) else { return }
    do throws(SegueError) {
      let nonce = try environment.drawIdentifier()
      let now = Instant(uptime: uptime, date: environment.now.date)
      guard let beacon = announcer.takeDue(now, nonce: nonce.bytes, random: environment.drawJitter()) else { return }
      sockets?.send(beacon)
    } catch {
      environment.log(.error, "\(error.message)")
    }
  }
}
