// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem
import SegueWire

/// The mailbox of this device, and this device as a mailbox (R14.5).
extension DeviceService {
  func openRetention() {
    retention.open(for: self)
    hub.setRetention(retention)
    inbox.observer = self
  }

  /// The settings or the devices of the account have changed.
  func setMailbox() {
    retention.set(settings.mailbox, settings.privacy)
    if retention.mailbox != nil, !retention.hasBegun, startCounting.isIdle { countStart() }
  }

  /// Revisions are told once the disk has it that the agent has started once more: after the next start they are
  /// higher.
  private func countStart() {
    startCounting.begin()
    stored.keep({ $0.starts = min($0.starts + 1, OwnRevisions.lastStart) }) { [self] result in
      guard !isClosed else { return }
      switch result {
      case .success(let kept):
        startCounting.succeed()
        currentSettings.adopt(kept)
        retention.begin(kept.starts)
      case .failure(let error):
        environment.log(.error, "mailbox: \(error.message)")
        startCounting.fail(error, at: environment.uptime)
      }
      setTimer()
    }
  }

  func tickRetention(_ uptime: Int64) {
    guard startCounting.isDue(at: uptime) else { return }
    startCounting.cancel()
    setMailbox()
  }

  /// - Parameter peer: whose link has begun or ended; nil: all have ended.
  func retentionLinksChanged(_ peer: Identifier?, _ isLinked: Bool) {
    // Not at once, as a link may take another one's place.
    environment.post { [self] in
      guard !isClosed else { return }
      retention.keep(links?.devices ?? [])
      if let peer, isLinked { retention.began(peer) }
    }
  }

  /// Throws NOT_FOUND (no such device), INVALID_ARGUMENT (this device).
  func checkMailbox(_ request: Value) throws(SegueError) {
    guard let device = request["retain_on"]?.uuid else { return }
    guard let found = snapshot.devices.first(where: { $0.id == device }) else {
      throw SegueError(.notFound, "retain_on: the account has no such device")
    }
    guard !found.isThisDevice else {
      throw SegueError(.invalidArgument, "retain_on: is this device, which is away whenever it is needed")
    }
  }
}

extension DeviceService: DeviceRetentionOwner {
  func deliverPushes() { pushes.kept.deliver() }
}
