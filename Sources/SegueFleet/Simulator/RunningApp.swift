// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine

/// The app that a process of a fleet runs.
struct RunningApp {
  /// Invariant: the process lets go of it at its end, which breaks the cycle.
  let program: any FleetProgram
  let driver: AppDriver<AppEngine>
  /// Uptime at which it opened.
  let beganAt: Int64
  /// Whether callbacks wait for the host to dispatch.
  var awaitsDispatch = false
}
