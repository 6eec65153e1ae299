import SegueEngine
import SegueModel

/// An object of the host that shows activities: a window, a view (R4.1). Its last handle is the only thing that keeps
/// it: the library holds it no longer than the host does.
open class LiveResponder: Delegate {
  public let app: App
  /// Its place in the app's engine, from `App.add` on.
  var place: Responder?

  public init(of app: App) { self.app = app }

  /// Whether `update` does anything.
  open var updates: Bool { false }
  /// Writes its state into the activity (R4.2).
  open func update(_ activity: LiveActivity, _ save: PendingSave) -> Reply { .yes }
  /// Restores it from a continued activity. True if it is restored.
  open func restore(_ activity: LiveActivity) -> Bool { false }

  /// Its callbacks never run again, and its activity is free.
  public final override func lastHandleReleased() {
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
