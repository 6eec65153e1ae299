// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The pushes that this device keeps for others while these are off (R3.15, R14.5): from their origins, and to their
/// targets. For one thread.
final class KeptPushes {
  /// Those of one device that are being fetched.
  private static let deviceLimit = PushAdmission.deviceLimit

  private let inbox: any RetainingInbox
  private let outgoing: OutgoingPushes
  private let retention: DeviceRetention
  private let peers: PushPeers
  /// Those that are being fetched.
  private var fetching: [(device: Identifier, number: UInt64, push: Identifier)] = []

  init(_ inbox: any RetainingInbox, _ outgoing: OutgoingPushes, _ retention: DeviceRetention, _ peers: PushPeers) {
    (self.inbox, self.outgoing, self.retention, self.peers) = (inbox, outgoing, retention, peers)
  }

  /// - Parameter device: as its certificate says.
  func keep(_ request: KeepPushRequest, of device: Identifier) {
    let origin = request.origin(device)
    func answer(_ error: SegueError?) {
      // Towards its origin this device is a receiver, whose app is the agent.
      let answer = PushAnswer(
        continuation: request.push.id, bundleIdentifier: Receiver.agent, appName: "mailbox")
      peers.send(.pushed(request.number, error.map { .failure($0) } ?? .success(answer)), to: device)
    }
    do throws(SegueError) {
      try retention.check(origin)
      guard fetching.count(where: { $0.device == device }) < Self.deviceLimit else {
        throw SegueError(.limitExceeded, "fetches \(Self.deviceLimit) pushes of this device already")
      }
    } catch { return answer(error) }
    fetching.append((device, request.number, request.push.id))
    let done: (SegueError?) -> Void = { [self] error in
      if let index = index(request.number, of: device) {
        fetching.remove(at: index)
        answer(error)
      }
    }
    // It may just have been made.
    inbox.look(for: Identifier(of: request.activity, onDevice: device), wanted: nil) { [self] result in
      guard index(request.number, of: device) != nil else { return }
      do throws(SegueError) {
        try PushAdmission.check(try result.get(), from: device)
        inbox.keepPush(origin, done)
      } catch { done(error) }
    }
  }

  private func index(_ number: UInt64, of device: Identifier) -> Int? {
    fetching.firstIndex { $0.device == device && $0.number == number }
  }

  /// The origin no longer waits: its app has gone.
  func withdrawn(_ number: UInt64, by device: Identifier) {
    guard let index = index(number, of: device) else { return }
    inbox.dropPushes([fetching.remove(at: index).push], of: device)
  }

  /// Tells targets of what is offered to them.
  func deliver() {
    for origin in inbox.duePushes {
      guard let push = origin.push else { continue }
      let activity = origin.identifier
      inbox.toldPush(activity)
      outgoing.deliver(activity, of: origin.device, to: push.target, peers.name(of: push.target) ?? "a device") {
        [inbox] result in
        switch result {
        case .success: inbox.answeredPush(activity, nil)
        case .failure(let error): inbox.answeredPush(activity, error)
        }
      }
    }
  }
}
