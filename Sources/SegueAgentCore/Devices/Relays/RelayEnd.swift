// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The reason for which a channel through a relay has ended.
public enum RelayEnd: UInt8, Sendable {
  /// An end has closed it.
  case ended
  /// The user of the relay has not switched it on.
  case off
  /// The relay is not linked with the other device.
  case notLinked
  /// The relay reaches one of the two through a relay itself: one hop is all.
  case secondHop
  /// A device has as many channels as it may, or bytes of its former ones still wait.
  case tooMany
  /// A device opens channels too often.
  case tooOften
  /// An end has sent what it must not.
  case violated
  /// Bytes were lost: a link has ended with them.
  case lost
  /// There is no such channel, or no longer.
  case unknown
  /// The link of the relay with the other device has ended.
  case cut
  /// The other device takes no connection now.
  case refused

  /// Whether a device may have ended a channel for it. The others are the relay's own, and name the relay.
  var isOfDevice: Bool {
    switch self {
    case .ended, .violated, .lost, .unknown, .refused: true
    case .off, .notLinked, .secondHop, .tooMany, .tooOften, .cut: false
    }
  }

  /// - Parameters:
  ///   - relay: its name.
  ///   - device: that of the device at the other end.
  func error(_ relay: String, _ device: String) -> SegueError {
    switch self {
    case .ended: SegueError(.connectionUnavailable, "\(device) has closed the connection through \(relay)")
    case .off: SegueError(.notAllowed, "\(relay) does not pass bytes on")
    case .notLinked: SegueError(.connectionUnavailable, "\(relay) is not linked with \(device)")
    case .secondHop:
      SegueError(.notAllowed, "\(relay) reaches \(device) or this device through another relay: one hop is all")
    case .tooMany: SegueError(.limitExceeded, "\(relay) passes on no more connections with \(device) now")
    case .tooOften: SegueError(.limitExceeded, "\(relay) was asked too often by this device")
    case .violated: SegueError(.malformed, "bytes through \(relay) were none of the connection with \(device)")
    case .lost: SegueError(.connectionUnavailable, "bytes of the connection with \(device) through \(relay) were lost")
    case .unknown: SegueError(.connectionUnavailable, "the connection with \(device) through \(relay) is over")
    case .cut: SegueError(.connectionUnavailable, "\(relay) has lost the link with \(device)")
    case .refused: SegueError(.connectionUnavailable, "\(device) takes no connection through \(relay) now")
    }
  }
}
