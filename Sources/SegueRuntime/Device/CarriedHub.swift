// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The hub that the process of an agent carries, and what the agent has set, which holds for its next hub, too. For the
/// library thread.
final class CarriedHub {
  /// The settings of the agent, which it makes by the `set…` methods of `Device`.
  struct Settings {
    var accountHandler: ((_ device: Identifier, _ message: [UInt8]?) -> [UInt8]?)?
    var relayHandler: ((_ device: Identifier, _ frame: RelayFrame) -> Void)?
    var unheardFailure: ((UnheardFailure) -> Void)?
    var manifests: ((_ bundleIdentifier: String) -> AppManifest?)?
    var folders: [UInt8]?
    var pageReasons: ((AppIdentity, OfferDescription) -> [Message.Explanation])?
    var sandboxLook: SandboxLook?
    var isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?
    var devices: AccountDevices?
    var retention: (any OfferRetention)?
  }

  /// The last hub that the process has become; nil before.
  private(set) var host: HubHost?
  var settings = Settings()

  /// The process has become a hub.
  func adopt(_ host: HubHost) {
    self.host = host
    host.setAccountHandler(settings.accountHandler)
    host.setRelayHandler(settings.relayHandler)
    host.setUnheardFailureHandler(settings.unheardFailure)
    host.setManifests(settings.manifests)
    host.setPageReasons(settings.pageReasons)
    if let folders = settings.folders { host.setFolders(folders) }
    host.sandboxLook = settings.sandboxLook
    host.setPrivacy(settings.isPrivate)
    host.setRetention(settings.retention)
    host.setDevices(settings.devices)
  }

  /// Drops the hub, which has ended, and what the agent has set: that may refer to this object.
  func drop() {
    host = nil
    settings = Settings()
  }
}
