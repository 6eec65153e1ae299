// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

extension Message {
  /// The number of the kind on the wire.
  var number: UInt64 {
    switch self {
    case .hello: 1
    case .welcome: 2
    case .goodbye: 3
    case .ping: 4
    case .pong: 5
    case .publish: 6
    case .withdraw: 7
    case .offer: 8
    case .gone: 9
    case .ready: 10
    case .fetch: 11
    case .state: 12
    case .refused: 13
    case .outcome: 14
    case .outcomeAck: 15
    case .peerLost: 16
    case .explain: 17
    case .explanation: 18
    case .link: 19
    case .resume: 20
    case .openLink: 21
    case .linkUp: 22
    case .linkDown: 23
    case .stream: 24
    case .streamAnswer: 25
    case .streamStatus: 26
    case .request: 27
    case .response: 28
    case .proceed: 29
    case .route: 30
    case .seek: 31
    case .follow: 32
    case .unfollow: 33
    case .list: 34
    case .listed: 35
    case .refresh: 36
    case .account: 37
    case .accepts: 40
    case .present: 41
    case .absent: 42
    case .deliver: 43
    case .ask: 44
    case .answer: 45
    case .keep: 46
    case .keeps: 47
    case .keepAttachment: 48
    case .failure: 49
    case .folders: 50
    case .originFolders: 51
    }
  }

  /// The message of that number whose elements are still to be read. Nil for an unknown number.
  init?(blank number: UInt64) {
    switch number {
    case 1: self = .hello(.blank, version: 0, minimum: 0)
    case 2: self = .welcome(version: 0, generation: 0, deviceName: "", agent: nil)
    case 3: self = .goodbye(.blank)
    case 4: self = .ping(0)
    case 5: self = .pong(0)
    case 6: self = .publish(.blank, .blank, activation: 0)
    case 7: self = .withdraw(.blank)
    case 8: self = .offer(.blank, .blank, nil)
    case 9: self = .gone(.blank, nil)
    case 10: self = .ready(settling: 0)
    case 11: self = .fetch(.blank, milliseconds: 0, receiver: nil)
    case 12: self = .state(.blank, to: .blank, channel: 0, size: 0, isStale: false, why: "")
    case 13: self = .refused(.blank, to: .blank, .blank)
    case 14: self = .outcome(.blank, .unknown, nil, receiver: nil)
    case 15: self = .outcomeAck(.blank, to: .blank)
    case 16: self = .peerLost(.blank)
    case 17: self = .explain(request: 0, .blank, type: "")
    case 18: self = .explanation(request: 0, [], appCount: 0)
    case 19: self = .link(HubIdentity(id: .blank, deviceName: ""), version: 0, minimum: 0)
    case 20: self = .resume(secret: .blank, sessions: [])
    case 21: self = .openLink(0)
    case 22: self = .linkUp(0, deviceName: "")
    case 23: self = .linkDown(0, .blank)
    case 24: self = .stream(.blank, .blank, from: .blank, channel: 0, attachment: nil)
    case 25: self = .streamAnswer(.blank, .blank, channel: 0, nil)
    case 26: self = .streamStatus(.blank, .blank, to: .blank, nil)
    case 27: self = .request(0, .blank, from: .blank, milliseconds: 0, channel: 0, size: 0)
    case 28: self = .response(0, .blank, to: .blank, channel: 0, size: 0, nil)
    case 29: self = .proceed(session: nil, received: 0)
    case 30: self = .route(to: .blank, nil, isSought: false)
    case 31: self = .seek(.blank, sequence: 0)
    case 32: self = .follow(.blank, list: 0)
    case 33: self = .unfollow(.blank)
    case 34: self = .list(.blank, 0)
    case 35: self = .listed(.blank)
    case 36: self = .refresh
    case 37: self = .account([])
    case 40: self = .accepts(false)
    case 41: self = .present(.blank, accepts: false)
    case 42: self = .absent(.blank)
    case 43: self = .deliver(.blank)
    case 44: self = .ask(0, [])
    case 45: self = .answer(0, nil, [])
    case 46: self = .keep(.blank, app: .blank, channel: 0, size: 0)
    case 47: self = .keeps
    case 48: self = .keepAttachment(channel: 0, "", changed: 0)
    case 49: self = .failure(type: "", .blank)
    case 50: self = .folders([])
    case 51: self = .originFolders(.blank, to: .blank, [])
    default: return nil
    }
  }
}

// Parts of blank messages.

extension Identifier {
  static var blank: Identifier { Identifier(high: 0, low: 0) }
}

extension SegueError {
  static let blank = SegueError(.ok, "")
}

extension AppIdentity {
  // Not kept: a fork could find it half made.
  static var blank: AppIdentity {
    AppIdentity(secret: .blank, bundleIdentifier: "", name: "", team: "", types: [], isChooser: false)
  }
}

extension Receiver {
  static let blank = Receiver(id: .blank, deviceName: "", appName: "", bundleIdentifier: "")
}

extension OfferDescription {
  static var blank: OfferDescription {
    OfferDescription(
      id: .blank, type: "", title: nil, payloadVersion: 0, sizeHint: 0, expirationDate: nil,
      supportsContinuationStreams: false)
  }
}

extension Offer {
  static let blank = Offer(
    description: .blank, origin: .blank, appName: "", bundleIdentifier: "", deviceName: "", rank: 0, activatedAt: 0)
}

extension OfferTiming {
  static var blank: OfferTiming { OfferTiming(age: 0, remaining: nil) }
}

extension OffersVersion {
  static var blank: OffersVersion { OffersVersion(hub: .blank, number: 0) }
}

extension Message.Continuation {
  static let blank = Message.Continuation(id: .blank, origin: .blank, activity: .blank)
}

extension Message.DeliverRequest {
  static let blank = Message.DeliverRequest(
    continuation: .blank, to: .blank, offer: .blank, timing: .blank, milliseconds: 0, isRedelivered: false)
}
