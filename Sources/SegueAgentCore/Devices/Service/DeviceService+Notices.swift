// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// Notices for the user: removals, copies and other clocks, as other devices tell of them.
extension DeviceService {
  /// A device says that this one was removed from the account. The user hears of it until a device links again. Any
  /// member may say that: it does not count at the manager, which alone removes devices, nor while another device of
  /// the account is linked.
  /// - Parameter peer: nil: one that has not shown who it is, and knows a key of the account.
  public func linkWasRefused(by peer: Identifier?) {
    guard !snapshot.isManager, (links?.devices ?? []).allSatisfy({ $0 == peer }) else { return }
    let name = snapshot.devices.first { $0.id == peer }?.name ?? "another device of the account, it seems"
    let error = SegueError(
      .notAllowed,
      """
      \(name): says that this device was removed from the account; if that is so, `segue account leave` forgets the \
      account here, and an invite brings this device back
      """)
    guard notices.add(error, of: peer, at: environment.uptime) else { return }
    problems.removal = error
    publish()
  }

  /// A device of the account, or who has recorded it, says that it is another time.
  public func linksHeardOtherTime(_ date: Double) {
    let isPresent = problems.otherClock.problem != nil
    let news = problems.otherClock.heard(date, at: environment.now)
    if let news { notices.add(news) }
    if news != nil || !isPresent { publish() }
  }

  /// Two machines are one device. Both have its keys, so that none of them can put the other one out.
  public func linksFoundCopy(of device: Identifier, _ path: LinkPath) {
    let uptime = environment.uptime
    guard device == snapshot.identity?.device else {
      let error = CopyAdvice.error(
        "\(name(of: device)): links from two machines by turns, lately from \(path.host)",
        isManager: isManager(device))
      if notices.add(error, of: device, at: uptime) { publish() }
      return
    }
    let error = CopyAdvice.error("the machine at \(path.host) is this device, too", isManager: snapshot.isManager)
    problems.copy.met(error, at: uptime)
    tellOfCopy(links?.devices ?? [])
    if notices.add(error, of: device, at: uptime) { publish() }
  }

  /// Tells linked devices that another machine has the keys of this one, if that is so.
  func tellOfCopy(_ linked: [Identifier]) {
    guard let told = try? DeviceMessage.copied.encoding() else { return }
    for peer in problems.copy.takeUntold(of: linked, at: environment.uptime) { messages?.send(told, to: peer) }
  }

  /// A device says that another machine has its keys.
  private func noteCopy(of peer: Identifier) {
    let error = CopyAdvice.error(
      "\(name(of: peer)): has met another machine with its keys", isManager: isManager(peer))
    if notices.add(error, of: peer, at: environment.uptime) { publish() }
  }

  func name(of device: Identifier) -> String {
    snapshot.devices.first { $0.id == device }?.name ?? "another device"
  }
  private func isManager(_ device: Identifier) -> Bool {
    snapshot.devices.contains { $0.id == device && $0.isManager }
  }

  /// A device has said something that is not about the members of the account.
  func heard(_ message: DeviceMessage, from peer: Identifier) {
    guard !isClosed else { return }
    switch message {
    case .removed: return linkWasRefused(by: peer)
    case .copied: return noteCopy(of: peer)
    case .addresses(let port, let addresses): return heardAddresses(port, addresses, of: peer)
    case .push, .pushed, .withdrawn, .retain, .retained, .keepPush, .keptPushes, .dropPushes, .deliverPush: break
    }
    guard links?.certificate(of: peer) != nil else { return }
    pushes.handle(message, from: peer, settings.push)
    retention.handle(message, from: peer)
  }
}
