import SegueModel
import SegueWire

/// A link to another device that this app has asked for.
struct AppLink {
  let number: UInt64
  /// Leads to the other hub; nil: this one was asked, and has it.
  var descriptor: PassedDescriptor?
  /// The app was told that it is there.
  var isLinked = false

  var isAsked: Bool { descriptor == nil }
}

extension AppEngine {
  /// Links this device's hub with another. What comes of it is delivered under the number that is returned; in the end
  /// always that it has ended.
  public func link(_ descriptor: PassedDescriptor, _ now: Moment) -> UInt64 {
    let number = nextLink
    nextLink += 1
    links.append(AppLink(number: number, descriptor: descriptor))
    if connection.isWelcome { askForLinks(now) }
    return number
  }

  func askForLinks(_ now: Moment) {
    for index in links.indices {
      guard let descriptor = links[index].descriptor else { continue }
      links[index].descriptor = nil
      sendChecked(.attach(links[index].number), with: descriptor, now)
    }
  }

  func linked(_ number: UInt64, deviceName: String) {
    guard let index = links.firstIndex(where: { $0.number == number }), !links[index].isLinked else { return }
    links[index].isLinked = true
    deliveries.append(.linked(number, deviceName: deviceName))
  }

  func linkEnded(_ number: UInt64, _ error: SegueError) {
    guard let index = links.firstIndex(where: { $0.number == number }) else { return }
    links.remove(at: index)
    deliveries.append(.linkEnded(number, error))
  }

  /// The hub that has them is gone. Those that it was not asked for wait for the next.
  func linksLostHub() {
    for link in links where link.isAsked {
      linkEnded(link.number, SegueError(.connectionUnavailable, "the hub of this device went away"))
    }
  }

  func endLinks(_ error: SegueError) {
    for link in links { linkEnded(link.number, error) }
  }
}
