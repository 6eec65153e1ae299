// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The handlers of the host for an app, and whether it takes what waits at the agent. Guarded by the app's lock.
struct HostHandlers {
  var delegate: AppDelegate?
  /// Whether what waits for the app may come, as far as the host has said.
  var acceptsWaiting = true

  /// Whether the agent may deliver what waits there: once there is a handler for it (R3.8).
  var acceptsDeliveries: Bool {
    acceptsWaiting && delegate.map { $0.isAttached && ($0.continues || $0.opensDocuments) } ?? false
  }
}
