// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// An activity of this app, compared with what was sent to the app from which its state comes back (R3.10).
struct OriginComparison {
  /// Whether it has changed since then.
  let hasChanged: Bool
  /// Its change count when it was compared.
  let changeCount: UInt64
}

/// A continuation of which this app is the receiver.
final class IncomingContinuation {
  enum Phase {
    /// will_continue is due, or runs.
    case announcing
    /// The state is being fetched.
    case fetching
    /// The state of an activity of this app has come back. Whether that has changed here is not known yet; `isSaving`:
    /// a save of it has been asked for.
    case comparing(Activity, isStale: Bool, isSaving: Bool)
    /// will_resume_back is due; or, if it is told, its answer is awaited until this uptime.
    case asking(Activity, isStale: Bool, OriginComparison, isAnnounced: Bool, until: Int64)
    /// The activity that came back may replace that of this app, unless the change count of the latter is not this one.
    /// Nil: the app has agreed to lose changes.
    case agreed(Activity, isStale: Bool, changeCount: UInt64?)
    /// continue is due.
    case arrived(Activity, isStale: Bool)
    /// did_fail is due.
    case failed(SegueError)
    /// continue runs; its answer is awaited.
    case continued
    /// open_document runs; its answer is awaited (R3.5).
    case opening
    /// The app has handled it, or has opened its document; its objects are being restored.
    case restoring
    /// It has failed after continue, which is to be told.
    case unrestored(SegueError)
  }

  enum Subject {
    case offer(Offer)
    /// An activity of this app, whose state comes back from the app that has continued it (R3.10), and the principal
    /// that was charged for it.
    case own(Identifier, type: String, principal: Identifier)
  }

  let id: Identifier
  /// Its name on the wire.
  let continuation: Message.Continuation
  let subject: Subject
  /// The uptime at which it fails (R3.9).
  let deadline: Int64
  /// Set if the agent delivers it, and then whether the app may have got it before (R3.8).
  var isRedelivered: Bool?
  /// The token by which the app may bring its window to the front; nil: there is none.
  let activationToken: String?
  var phase = Phase.announcing
  /// Whether will_continue has run.
  var isAnnounced: Bool
  /// Whether the origin may know it.
  var isFetched = false
  /// Bytes of the document, once its fetch has ended.
  var progress: (received: Int, total: Int) = (0, 0)
  /// Why its state is an older snapshot, if the origin says so (R2.4).
  var staleReason: String?
  /// The URL of its document, if it came as container + path (R3.5).
  var documentURL: String?

  init(
    _ id: Identifier, _ continuation: Message.Continuation, _ subject: Subject, deadline: Int64,
    isAnnounced: Bool = false, isRedelivered: Bool? = nil, activationToken: String? = nil
  ) {
    self.id = id
    self.continuation = continuation
    self.subject = subject
    self.deadline = deadline
    self.isAnnounced = isAnnounced
    self.isRedelivered = isRedelivered
    self.activationToken = activationToken
  }

  var isDelivery: Bool { isRedelivered != nil }

  /// Whether the next continuation of the app cancels it (R3.3). A late answer to a delivery still counts.
  var endsWithNext: Bool { own == nil && !(isDelivery && isOver) }

  /// Whether did_fail or continue has run.
  var isOver: Bool {
    switch phase {
    case .failed, .continued, .opening, .restoring, .unrestored: true
    case .announcing, .fetching, .comparing, .asking, .agreed, .arrived: false
    }
  }

  /// Whether the host is to answer it, to open its document, or to restore its objects.
  var isAwaited: Bool {
    switch phase {
    case .continued, .opening, .restoring: true
    default: false
    }
  }

  /// The uptime at which a step of it is due, or nil. `StateFetches` has the deadline of a fetch.
  var nextDeadline: Int64? {
    switch phase {
    case .failed, .fetching, .unrestored: nil
    // A late answer to a delivery still counts.
    case .continued, .restoring: isDelivery ? nil : deadline
    case .asking(_, _, _, _, let until): min(deadline, until)
    case .announcing, .comparing, .agreed, .arrived, .opening: deadline
    }
  }

  var type: String {
    switch subject {
    case .offer(let offer): offer.description.type
    case .own(_, let type, _): type
    }
  }

  /// The activity of this app whose state comes back; nil if the app continues an offer.
  var own: Identifier? { if case .own(let id, _, _) = subject { id } else { nil } }
}
