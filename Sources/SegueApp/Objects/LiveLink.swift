// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// A link to another device that the host has asked for, with its callback.
open class LiveLink: HandleObject {
  /// Written once, with the app's lock. The app retains the link until it has ended.
  private final var app: App?
  /// The engine's number; 0 before it was asked for.
  public private(set) final var number: UInt64 = 0

  final func begin(_ number: UInt64, of app: App) { (self.number, self.app) = (number, app) }

  /// Ends the link, or the attempt to make it; no effect on one that has ended.
  public final func cancel() { app?.performIfOpen { engine, now in engine.endLink(number, now) } }

  /// The link is established.
  open func linked(_ app: App, deviceName: String) {}

  /// Called once, last, without locks.
  open func ended(_ app: App, _ error: SharedBox<SegueError>) {}

  /// It has ended: releases the host's context, however long the host keeps the handle.
  open func forget() {}
}
