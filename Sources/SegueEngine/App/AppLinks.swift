// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The links to other devices that an app has asked for.
final class AppLinks: AppFeature {
  private struct AppLink {
    let number: UInt64
    /// The connection to the other hub; nil once this device's hub has it.
    var descriptor: PassedDescriptor?
    /// Whether the app knows that it is established.
    var isUp = false
  }

  private let app: AppContext
  private let hub: HubConnection
  private var links: [AppLink] = []

  init(_ app: AppContext, _ hub: HubConnection) {
    self.app = app
    self.hub = hub
  }

  func ask(_ descriptor: PassedDescriptor, _ now: Instant) -> UInt64 {
    let number = app.takeNumber()
    links.append(AppLink(number: number, descriptor: descriptor))
    if hub.isWelcome { connected(now) }
    return number
  }

  /// Ends a link, or the attempt to make it; no effect on one that has ended.
  func end(_ number: UInt64, _ now: Instant) {
    guard let link = links.first(where: { $0.number == number }) else { return }
    let error = SegueError(.userCancelled, "this app has ended the link")
    if link.descriptor == nil { hub.sendChecked(.linkDown(number, error), now) }
    receiveDown(number, error)
  }

  /// Sends pending links to the hub.
  func connected(_ now: Instant) {
    for index in links.indices {
      guard let descriptor = links[index].descriptor.take() else { continue }
      hub.sendChecked(.openLink(links[index].number), with: descriptor, now)
    }
  }

  func receiveUp(_ number: UInt64, deviceName: String) {
    guard let index = links.firstIndex(where: { $0.number == number }), !links[index].isUp else { return }
    links[index].isUp = true
    app.deliver(.linked(number, deviceName: deviceName))
  }

  func receiveDown(_ number: UInt64, _ error: SegueError) {
    guard let index = links.firstIndex(where: { $0.number == number }) else { return }
    links.remove(at: index)
    app.deliver(.linkEnded(number, error))
  }

  /// Ends the links that the hub has. Pending ones wait for the next hub.
  func disconnected(_ now: Instant) {
    for link in links where link.descriptor == nil {
      receiveDown(link.number, SegueError(.connectionUnavailable, "the hub of this device has ended"))
    }
  }

  func close(_ error: SegueError, _ now: Instant) {
    for link in links { receiveDown(link.number, error) }
  }
}
