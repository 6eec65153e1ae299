import SegueModel
import SegueWire

/// What is to be done with the next descriptor that an app has sent, in the order of the messages.
public enum Passenger: Sendable {
  /// Another hub is at its other end: answer with `connectedHub` or `refuse`.
  case link(LinkRequest)
  /// The end of a stream, for an app of this device; nil: for nobody.
  case stream(from: HubEngine.PeerNumber, to: HubEngine.PeerNumber?, Identifier)
}

/// Streams between apps: this hub introduces them to each other, and bears word of how they ended.
extension HubEngine {
  func stream(
    _ id: Identifier, _ continuation: Message.Continuation, _ attachment: Message.AttachmentPart?, from peer: Peer,
    _ app: AppIdentity
  ) {
    let next = next(to: continuation.origin, of: continuation, from: peer)
    guard let origin = next, origin.app != nil else {
      passengers.append(.stream(from: peer.number, to: nil, id))
      let why = next == nil ? "is not connected" : "is on another device, and streams do not cross links yet"
      let error = SegueError(.connectionUnavailable, "the app where the activity lives \(why)")
      return send(.streamAnswer(id, continuation, channel: 0, error), to: peer)
    }
    paths.insert(
      Path(continuation: continuation.id, receiver: app.id, receiverPeer: peer, originPeer: origin))
    passengers.append(.stream(from: peer.number, to: origin.number, id))
    send(.stream(id, continuation, from: app.id, channel: 0, attachment: attachment), to: origin)
  }

  func streamAnswer(_ id: Identifier, _ continuation: Message.Continuation, _ error: SegueError?, from peer: Peer) {
    guard let path = paths[continuation.id], path.originPeer === peer else { return }
    send(.streamAnswer(id, continuation, channel: 0, error), to: path.receiverPeer)
  }

  func streamWord(
    _ id: Identifier, _ continuation: Message.Continuation, to app: Identifier, _ word: StreamWord?, from peer: Peer
  ) {
    if let next = next(to: app, of: continuation, from: peer) {
      send(.streamWord(id, continuation, to: app, word), to: next)
    } else if word == nil, settledAt <= now.uptime, let asker = peer.app {
      send(.streamWord(id, continuation, to: asker.id, .broken), to: peer)
    }
  }
}
