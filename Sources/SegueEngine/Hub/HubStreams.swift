import SegueModel
import SegueWire

/// What the owner of an engine is to do about a descriptor.
public enum DescriptorTransfer {
  /// It has come for a link, with another hub at its other end: answer with `connectedHub` or `refuse`.
  case link(LinkRequest, PassedDescriptor)
  /// It has come as the hub's end of a stream that crosses a link.
  case outgoing(Crossing, PassedDescriptor)
  /// A stream has come by a link: make two ends, keep one, and answer with the other (`connect`) or with `lose`.
  case incoming(Crossing)
}

/// A stream that an app was asked for, and has not answered.
struct UnansweredStream {
  let id: Identifier
  let asker: Identifier
}

/// Streams between apps: this hub introduces them to each other, and bears word of how they ended.
extension HubEngine {
  /// Streams that an app may leave unanswered, each of which holds a descriptor; and those of them that one app has asked for.
  static let unansweredLimit = 256
  static let unansweredLimitOfAsker = 64

  /// - Parameter channel: by which it comes from another hub.
  /// - Parameter descriptor: the origin's end, of an app of this device.
  func stream(
    _ id: Identifier, _ continuation: Message.Continuation, of app: Identifier, _ attachment: Message.AttachmentPart?,
    channel: Link.Channel = 0, _ descriptor: PassedDescriptor? = nil, from peer: Peer
  ) {
    func refuse(_ error: SegueError) {
      if peer.isHub { peer.link.reset(channel) }
      send(.streamAnswer(id, continuation, channel: 0, error), to: peer)
    }
    if !peer.isHub {
      guard let descriptor else { return refuse(Self.noDescriptor) }
      if descriptor.isLost { return refuse(Self.lostDescriptor) }
    }
    guard mayUse(continuation, app) else { return refuse(Self.nameIsTaken) }
    guard let origin = next(to: continuation.origin, of: continuation, from: peer) else {
      return refuse(SegueError(.connectionUnavailable, "the app where the activity lives is not connected"))
    }
    guard origin.isHub || mayAsk(origin, app) else {
      return refuse(
        SegueError(.remoteApplicationTimedOut, "the app where the activity lives has too many streams to answer"))
    }
    guard recordPath(of: continuation, app, from: peer, to: origin, awaiting: Self.streamAnswerTime) else {
      return refuse(Self.tooManyTransfers)
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
      crossing.request = .stream(id, continuation, from: app, channel: outChannel, attachment: attachment)
      transfers.append(.incoming(crossing))
    } else if let descriptor, origin.isHub {
      guard let crossing = cross(id, continuation, app: app, isAsker: true, far: origin) else {
        return refuse(Self.tooManyTransfers)
      }
      outChannel = origin.link.open()
      crossing.outgoing = .open(outChannel)
      transfers.append(.outgoing(crossing, descriptor))
    }
    if !origin.isHub { origin.unanswered.append(UnansweredStream(id: id, asker: app)) }
    // An app is asked once its end is there.
    guard origin.isHub || !peer.isHub else { return }
    send(
      .stream(id, continuation, from: app, channel: outChannel, attachment: attachment), to: origin,
      with: origin.isHub ? nil : descriptor)
  }

  private func mayAsk(_ origin: Peer, _ asker: Identifier) -> Bool {
    origin.unanswered.count < Self.unansweredLimit
      && origin.unanswered.count(where: { $0.asker == asker }) < Self.unansweredLimitOfAsker
  }

  static var noDescriptor: SegueError { SegueError(.malformed, "no descriptor came with the message") }
  static var lostDescriptor: SegueError {
    SegueError(.limitExceeded, "the process that carries the hub may open no more descriptors")
  }

  /// The app of a stream that came by a link gets its end.
  public func connect(_ crossing: Crossing, _ descriptor: PassedDescriptor) {
    guard let request = crossing.request, !crossing.isLost, let app = apps[crossing.app] else { return }
    crossing.request = nil
    send(request, to: app, with: descriptor)
    removeDismissed()
  }

  /// The origin has answered.
  func streamAnswer(
    _ id: Identifier, _ continuation: Message.Continuation, _ error: SegueError?, from peer: Peer, _ app: AppIdentity
  ) {
    peer.unanswered.removeAll { $0.id == id }
    guard let path = paths[continuation.id], path.originPeer === peer else { return }
    path.answered()
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
    if let path = paths[continuation.id], path.originPeer === peer { path.answered() }
    if let crossing = crossing(id), crossing.far === peer, crossing.isAsker, crossing.incoming == .unopened {
      guard error == nil, channel != 0 else {
        return fail(crossing, error ?? SegueError(.malformed, "the other hub names no channel"))
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
