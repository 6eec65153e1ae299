// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The apps that the hub says are open on this device, and what each has had of the inbox.
final class OpenApps {
  /// The most apps that a hub may say are open: others are ignored. `principalLimit`: the most of one process.
  static let limit = 4_096
  static let principalLimit = limit / Principal.share
  /// The most apps that have gone of which the agent knows what they have had.
  private static let formerLimit = 256

  private var all: [ConnectedApp] = []
  /// The entries that apps had before they were gone, the latest app last: a hub may lose an app that runs on, and find
  /// it again.
  private var former: [(app: Identifier, tried: [Identifier])] = []

  subscript(index: Int) -> ConnectedApp {
    get { all[index] }
    _modify { yield &all[index] }
  }

  var indices: Range<Int> { all.indices }
  var isEmpty: Bool { all.isEmpty }
  var identities: [AppIdentity] { all.map { $0.identity } }
  func index(of app: Identifier) -> Int? { all.firstIndex { $0.identity.id == app } }
  /// The app that has an entry, or gets it now.
  func index(having continuation: Identifier) -> Int? {
    all.firstIndex { $0.delivery?.item.continuation == continuation }
  }
  /// An app that the current hub does not know.
  var unconfirmed: Int? { all.firstIndex { !$0.isConfirmed } }
  /// The documents in memory.
  var documentCount: Int { all.count { $0.delivery?.isLarge ?? false } }

  /// Whether a process of an app is open.
  func isOpen(_ bundle: String) -> Bool { all.contains { Text.isSame($0.identity.bundleIdentifier, bundle) } }

  /// The open processes of an app, as of profiles of a browser (R12.3): first the one whose offer is frontmost; last
  /// those without an offer.
  func processes(of bundle: String, _ offers: [Offer]) -> [Identifier] {
    let open = all.filter { Text.isSame($0.identity.bundleIdentifier, bundle) }.map { $0.identity.id }
    guard open.count > 1 else { return open }
    var result: [Identifier] = []
    for offer in offers where open.contains(offer.origin) && !result.contains(offer.origin) {
      result.append(offer.origin)
    }
    return result + open.filter { !result.contains($0) }
  }

  /// - Returns: false if there is no room.
  func add(_ app: AppIdentity, _ principal: Identifier, accepts: Bool) -> Bool {
    guard all.count < Self.limit, all.count(where: { $0.principal == principal }) < Self.principalLimit else {
      return false
    }
    all.append(ConnectedApp(identity: app, principal: principal, accepts: accepts, tried: takeFormer(app.id)))
    return true
  }

  /// Removes an app that has gone, and remembers what it has had.
  func remove(at index: Int) -> ConnectedApp {
    let app = all.remove(at: index)
    if !app.tried.isEmpty {
      if former.count == Self.formerLimit { former.removeFirst() }
      former.append((app.identity.id, app.tried))
    }
    return app
  }

  private func takeFormer(_ app: Identifier) -> [Identifier] {
    former.firstIndex { $0.app == app }.map { former.remove(at: $0).tried } ?? []
  }

  /// All of them may get an entry that they have had.
  func forgetTries(of continuation: Identifier) {
    for index in all.indices { all[index].tried.removeAll { $0 == continuation } }
    for index in former.indices { former[index].tried.removeAll { $0 == continuation } }
  }
}
