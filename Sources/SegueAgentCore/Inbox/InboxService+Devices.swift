// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The inbox as other devices use it: offers and pushes that are retained (R14.5).
extension InboxService: RetainingInbox {
  public var ownOffers: [Offer] {
    var offers: [Offer] = []
    perform { engine, _ in offers = engine.ownOffers }
    return offers
  }

  public var retainedOffers: [KeptRecord] {
    var records: [KeptRecord] = []
    perform { engine, _ in records = engine.retainedOffers }
    return records
  }

  public func retentionProblem(of device: Identifier) -> SegueError? {
    var problem: SegueError?
    perform { engine, _ in problem = engine.retentionProblem(of: device) }
    return problem
  }

  public func retain(_ wanted: [RetainedOrigin], for device: Identifier) {
    perform { $0.retain(wanted, for: device, $1) }
  }

  public var retentionProblem: SegueError? {
    var problem: SegueError?
    perform { engine, _ in problem = engine.retentionProblem }
    return problem
  }

  public func keepPush(_ push: RetainedOrigin, _ done: @escaping (SegueError?) -> Void) {
    guard let id = push.push?.id else { return }
    callers.addKeptPush(id, done)
    perform { $0.keepPush(push, $1) }
  }

  public func dropPushes(_ ids: [Identifier], of device: Identifier) {
    perform { $0.dropPushes(ids, of: device, $1) }
  }

  public var duePushes: [RetainedOrigin] {
    var due: [RetainedOrigin] = []
    perform { engine, _ in due = engine.duePushes }
    return due
  }

  public func toldPush(_ activity: Identifier) { perform { engine, _ in engine.toldPush(activity) } }

  public func answeredPush(_ activity: Identifier, _ error: SegueError?) {
    perform { $0.answeredPush(activity, error, $1) }
  }

  public func setDevices(_ devices: [Identifier], linked: [Identifier], name: String?) {
    perform { $0.setDevices(devices, linked: linked, name: name, $1) }
  }

  public func hasTaken(_ push: PushMark, _ done: @escaping (Result<Bool, SegueError>) -> Void) {
    disk.hasTaken(push, done)
  }

  public func noteTaken(_ push: PushMark) {
    disk.noteTaken(push) { [environment] result in
      if case .failure(let error) = result { environment.log(.error, "push: \(error.message)") }
    }
  }
}
