// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The settings of the user, and what this device has learned of others.
extension DeviceService {
  /// Changes settings, and answers when they are stored.
  public func set(_ request: Value, _ answer: @escaping ControlClient.Answer) {
    do throws(SegueError) { try checkMailbox(request) } catch { return answer(.failure(error)) }
    stored.change({ settings throws(SegueError) in try settings.change(request) }) { [self] result in
      guard case .success(let changed) = result else { return answer(result.map { _ in .emptyDictionary }) }
      guard !isClosed else { return }
      let former = settings
      currentSettings.change(changed)
      hub.setPrivacy(settings.privacy)
      relays.set(isOn: settings.isRelaying)
      setMailbox()
      var isMoved = false
      if let links {
        links.setAnnounced(settings.isAnnounced)
        // A port that was in use is tried again.
        if settings.port != former.port || (request["port"] != nil && listening.problem != nil) {
          isMoved = listening.move(links, settings)
        }
        dialAgain()
        if isMoved || settings.isAnnounced != former.isAnnounced { tellAddresses(links.devices) }
      }
      align()
      publish()
      guard isMoved else { return answer(.success(.emptyDictionary)) }
      listens { answer(.success(.emptyDictionary)) }
    }
  }

  /// Stores what was learned of other devices, if it is time.
  /// - Parameter isLast: whether the agent ends.
  func keepLearned(isLast: Bool = false) {
    guard let learned = currentSettings.takeLearned(at: environment.uptime, isLast: isLast) else { return }
    keep { settings in for each in learned { settings.records.learn(each) } }
  }

  /// Forgets the addresses of devices that are no longer in the account.
  func forgetOthers() {
    if case .unusable = snapshot.status { return }
    let devices = snapshot.devices.map { $0.id }
    if currentSettings.forgetMailbox(exceptAmong: devices) {
      keep { _ = $0.forgetMailbox(exceptAmong: devices) }
      notices.add(
        SegueError(.notFound, "mailbox: was removed from the account; nothing is retained for this device any longer"))
    }
    guard currentSettings.keepRecords(of: devices) else { return }
    keep { $0.records.keep(devices) }
    links?.setAddresses(settings.dialled, paths)
  }

  /// Keeps something that was learned, for the next time.
  func keep(_ change: @escaping (inout DeviceSettings) -> Void) {
    stored.keep(change) { [self] result in
      switch result {
      case .success(let kept): currentSettings.adopt(kept)
      case .failure(let error): environment.log(.error, "\(error.message)")
      }
    }
  }
}
