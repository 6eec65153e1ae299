import SegueModel
import SegueWire

/// What is to be done with descriptors that apps have sent, in the order of the messages, or are sent.
public enum Passenger {
  /// The next is a link, with another hub at its other end: answer with `connectedHub` or `refuse`.
  case link(LinkRequest)
  /// The next is the end of a stream, for an app of this device; nil: for nobody.
  case stream(from: HubEngine.PeerNumber, to: HubEngine.PeerNumber?, Identifier)
  /// The next is the end of a stream that crosses a link.
  case departure(Crossing, from: HubEngine.PeerNumber)
  /// A stream has come by a link: the app gets one end of a new socket, and the owner keeps the other.
  case arrival(Crossing, to: HubEngine.PeerNumber)
}

/// Streams between apps: this hub introduces them to each other, and bears word of how they ended.
extension HubEngine {
  /// - Parameter channel: by which it comes from another hub.
  func stream(
    _ id: Identifier, _ continuation: Message.Continuation, of app: Identifier, _ attachment: Message.AttachmentPart?,
    channel: Link.Channel = 0, from peer: Peer
  ) {
    func refuse(_ error: SegueError) {
      if peer.isHub {
        peer.link.reset(channel)
      } else {
        passengers.append(.stream(from: peer.number, to: nil, id))
      }
      send(.streamAnswer(id, continuation, channel: 0, error), to: peer)
    }
    guard mayUse(continuation, app) else { return refuse(Self.nameIsTaken) }
    guard let origin = next(to: continuation.origin, of: continuation, from: peer) else {
      return refuse(SegueError(.connectionUnavailable, "the app where the activity lives is not connected"))
    }
    // To an app: whether it crosses a link.
    var outChannel: Link.Channel = peer.isHub ? 1 : 0
    if peer.isHub, origin.isHub {
      guard let relayed = relay(from: peer, channel, to: origin) else { return refuse(Self.tooManyTransfers) }
      outChannel = relayed
    } else if peer.isHub {
      guard let crossing = cross(id, continuation, app: continuation.origin, isAsker: false, far: peer) else {
        return refuse(Self.tooManyTransfers)
      }
      crossing.incoming = .open(channel)
      passengers.append(.arrival(crossing, to: origin.number))
    } else if origin.isHub {
      guard let crossing = cross(id, continuation, app: app, isAsker: true, far: origin) else {
        return refuse(Self.tooManyTransfers)
      }
      outChannel = origin.link.open()
      crossing.outgoing = .open(outChannel)
      passengers.append(.departure(crossing, from: peer.number))
    } else {
      passengers.append(.stream(from: peer.number, to: origin.number, id))
    }
    paths.insert(
      Path(
        continuation: continuation.id, receiver: app, receiverPeer: peer, originPeer: origin, isAwaited: true))
    send(.stream(id, continuation, from: app, channel: outChannel, attachment: attachment), to: origin)
  }

  /// The origin has answered.
  func streamAnswer(
    _ id: Identifier, _ continuation: Message.Continuation, _ error: SegueError?, from peer: Peer, _ app: AppIdentity
  ) {
    guard let path = paths[continuation.id], path.originPeer === peer else { return }
    var channel: Link.Channel = 0
    if path.receiverPeer.isHub {
      guard let crossing = crossing(id), crossing.app == app.id, !crossing.isAsker, crossing.outgoing == .unopened
      else {
        return
      }
      guard error == nil, crossing.far.link.openCount < Link.channelLimit else {
        drop(crossing)
        let error = error ?? Self.tooManyTransfers
        return send(.streamAnswer(id, continuation, channel: 0, error), to: crossing.far)
      }
      channel = crossing.far.link.open()
      crossing.outgoing = .open(channel)
      changed(crossing)
    }
    send(.streamAnswer(id, continuation, channel: channel, error), to: path.receiverPeer)
  }

  /// The same, by way of another hub.
  func streamAnswer(
    _ id: Identifier, _ continuation: Message.Continuation, channel: Link.Channel, _ error: SegueError?,
    fromHub peer: Peer
  ) {
    if let crossing = crossing(id), crossing.far === peer, crossing.isAsker, crossing.incoming == .unopened {
      guard error == nil, channel != 0 else {
        return lose(crossing, error ?? SegueError(.malformed, "the other hub names no channel"))
      }
      crossing.incoming = .open(channel)
      if let app = apps[crossing.app] { send(.streamAnswer(id, continuation, channel: 1, nil), to: app) }
      return changed(crossing)
    }
    guard let path = paths[continuation.id], path.originPeer === peer || path.receiverPeer === peer else {
      return peer.link.reset(channel)
    }
    let isFromOrigin = path.originPeer === peer
    let next = isFromOrigin ? path.receiverPeer : path.originPeer
    var (outChannel, error) = (Link.Channel(0), error)
    if error == nil {
      guard isFromOrigin, next.isHub, channel != 0 else { return peer.link.reset(channel) }
      if let relayed = relay(from: peer, channel, to: next) {
        outChannel = relayed
      } else {
        error = Self.tooManyTransfers
      }
    }
    if error != nil { peer.link.reset(channel) }
    send(.streamAnswer(id, continuation, channel: outChannel, error), to: next)
  }

  func streamWord(
    _ id: Identifier, _ continuation: Message.Continuation, to app: Identifier, _ word: StreamWord?, from peer: Peer
  ) {
    if let next = next(to: app, of: continuation, from: peer) {
      if word != nil, let crossing = crossing(id), crossing.app == app, !crossing.isWritten {
        // Bytes that it said first are still on their way.
        crossing.word = word
      } else {
        send(.streamWord(id, continuation, to: app, word), to: next)
      }
    } else if word == nil, settledAt <= now.uptime || departed.contains(app) {
      guard let asker = peer.app else {
        let error = SegueError(.connectionUnavailable, "the other app is gone")
        return send(.streamAnswer(id, continuation, channel: 0, error), to: peer)
      }
      send(.streamWord(id, continuation, to: asker.id, .broken), to: peer)
    }
  }
}
