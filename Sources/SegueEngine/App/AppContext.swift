// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The context that the features of an app share: who it is, the limits, and the engine's owner.
final class AppContext {
  /// The first welcoming agent's statement about the app's manifest. A later one adds nothing (R6.1).
  private enum Answer {
    case none
    /// Not ready yet. Nil: no manifest describes the app.
    case heard(AppManifest?)
    case holds
  }

  /// With what the manifest says, from the welcome of the agent on.
  private(set) var identity: AppIdentity
  /// For people: the window or terminal that the app is (R13.6); nil: it says none.
  var label: String?
  private var answer = Answer.none
  let limits: Limits
  /// The owner outlives its engine.
  unowned(unsafe) let owner: any AppEngineOwner
  private var nextNumber: UInt64 = 1

  init(_ identity: AppIdentity, _ limits: Limits, _ owner: any AppEngineOwner) {
    self.identity = identity
    self.limits = limits
    self.owner = owner
  }

  /// Returns a new number for an operation whose delivery names it.
  func takeNumber() -> UInt64 {
    defer { nextNumber += 1 }
    return nextNumber
  }

  // MARK: The manifest

  /// Whether an agent has said what the manifest of the app is, and the app has been ready since.
  var knowsManifest: Bool { if case .holds = answer { true } else { false } }

  /// Whether an agent has said what the manifest of the app is.
  var hasHeardManifest: Bool { if case .none = answer { false } else { true } }

  /// An agent has welcomed the app.
  func heard(_ manifest: AppManifest?) {
    guard case .none = answer else { return }
    answer = .heard(manifest)
    if let manifest { identity = identity.adding(manifest) }
  }

  /// The app is ready.
  func holdManifest() {
    guard case .heard(let manifest) = answer else { return }
    answer = .holds
    if let manifest { owner.manifestHolds(manifest) }
  }

  func deliver(_ delivery: Delivery) { owner.deliver(delivery) }

  func log(_ severity: Severity, _ message: @autoclosure () -> DiagnosticText) {
    if owner.logs(severity) { deliver(.log(severity, message())) }
  }
}
