import SegueModel
import SegueWire

/// The end of an app.
extension AppEngine {
  /// Saves and withdraws the current activity. Its will_save runs before `finishClosing`.
  public func startClosing(_ now: Moment) {
    guard let id = current?.id else { return }
    resignCurrent(id, .leaving, now)
  }

  /// Ends all that is under way with CANCELLED (R3.14). What is then in `link` goes out before the connection closes.
  public func finishClosing(_ now: Moment) {
    guard !isClosed else { return }
    let closed = SegueError(.cancelled, "the app was closed")
    for continuation in incoming {
      if case .continued = continuation.phase {
        answer(continuation.id, closed, now)
      } else {
        cancel(continuation.id, closed, now)
      }
    }
    saves = []
    while !outgoing.isEmpty { endOutgoing(at: outgoing.count - 1, closed, now) }
    failExplanations()
    endLinks(closed)
    closeStreams(closed)
    closeRequests(closed)
    isClosed = true
  }

  /// continue was not answered, and will not be.
  private func answer(_ id: Identifier, _ error: SegueError, _ now: Moment) {
    guard let index = incoming.firstIndex(where: { $0.id == id }) else { return }
    finish(at: index, .failed, error, now)
  }

  private func endOutgoing(at index: Int, _ error: SegueError, _ now: Moment) {
    if case .sent = outgoing[index].phase {
      endOutgoing(at: index, .unknown, error, now)
    } else {
      send(
        .refused(
          outgoing[index].id, to: outgoing[index].receiver.id, SegueError(.handoffFailed, "the origin was closed")))
      endOutgoing(at: index, .failed, error, now)
    }
  }
}
