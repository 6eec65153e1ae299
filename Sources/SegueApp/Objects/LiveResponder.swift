// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// An object of the host that shows activities: a window, a view (R4.1). Its last handle is the only thing that keeps
/// it: the library holds it no longer than the host does.
open class LiveResponder: Delegate {
  public let app: App
  /// Its responder in the engine of its app, from `App.add` on.
  public internal(set) final var engineResponder: Responder?
  /// Whether it ends with its document, and not with its last handle.
  var isOfDocument = false

  public init(of app: App) { self.app = app }

  /// Whether `update` does anything.
  open var updates: Bool { false }
  /// Writes its state into the activity (R4.2).
  open func update(_ activity: LiveActivity, _ save: PendingSave) -> Reply { .yes }
  /// Whether `restore` does anything.
  open var restores: Bool { false }
  /// Restores it from a continued activity. True if it is restored.
  open func restore(_ activity: LiveActivity) -> Bool { false }

  public final override func lastHandleReleased() { if !isOfDocument { end() } }

  /// Its callbacks never run again, and its activity is free.
  final func end() {
    super.lastHandleReleased()
    app.remove(self)
  }
}

/// A responder as an object that a continuation restores (R3.4).
public final class ResponderRestorable: Restorable {
  private let responder: LiveResponder

  public init(_ responder: LiveResponder) { self.responder = responder }

  /// Not restored if the responder was released.
  public override func restore(_ activity: LiveActivity) -> Bool {
    responder.call { responder.restore(activity) } ?? false
  }
}
