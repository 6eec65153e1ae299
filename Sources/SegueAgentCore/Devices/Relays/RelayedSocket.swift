// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The end of a channel through a relay, as a socket: the knock, TLS and the hub's session run over it as over TCP. It
/// reports events again and again while they last, as a loop does. For one thread.
final class RelayedSocket: LinkSocket {
  private enum State {
    /// The relay was asked for it.
    case connecting
    case open
    /// The relay or the other end has ended it.
    case ended
    /// This end has closed it.
    case closed
  }

  /// Bytes of a piece from which on it is not copied.
  private static let smallPiece = RelayFrame.pieceSize / 2

  let relay: Identifier
  let channel: UInt32
  /// The device at the other end, as the relay says.
  let device: Identifier
  /// The sockets of this device, which let go of this one when it is closed.
  private let sockets: RelayedSockets
  private var state: State
  private(set) var failure: SegueError?
  /// The pieces that have arrived, and are not read yet.
  private var arrived: [ArraySlice<UInt8>] = []
  private var window = RelayWindow(RelayWindow.largest)
  /// Bytes that were read.
  private var consumed: UInt64 = 0
  /// Bytes that were sent, and that may be.
  private var (sent, limit): (UInt64, UInt64) = (0, RelayWindow.size)
  /// The messages since the last credit.
  private var messages = 0
  private var wanted = (reading: true, writing: false)
  private var ready: ((_ isReadable: Bool, _ isWritable: Bool) -> Void)?
  private var isReporting = false

  /// - Parameter isDialled: whether this device has asked for it.
  init(
    through relay: Identifier, as channel: UInt32, to device: Identifier, isDialled: Bool, of sockets: RelayedSockets
  ) {
    (self.relay, self.channel, self.device, self.sockets) = (relay, channel, device, sockets)
    state = isDialled ? .connecting : .open
  }

  // MARK: From the relay

  func take(_ step: RelayStep) {
    switch step {
    case .open: break
    case .opened: if case .connecting = state { state = .open }
    case .data(let offset, let bytes):
      switch window.take(offset, bytes.count) {
      case .next(let repeated): append(bytes.dropFirst(repeated))
      case .repeated: break
      case .wrong(let end): fail(end)
      }
    case .credit(let consumed, let limit):
      guard consumed <= sent, limit >= consumed, limit - consumed <= RelayWindow.largest else {
        return fail(.violated)
      }
      self.limit = max(self.limit, limit)
      messages = 0
    case .closed(let end): over(end)
    }
    report()
  }

  /// A small piece is copied: it would retain the buffer of all that was read with it, repeated bytes among that.
  private func append(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count < Self.smallPiece else { return arrived.append(bytes) }
    arrived.append(bytes.withUnsafeBytes { [UInt8]($0, room: bytes.count) }[...])
  }

  /// Ends it, and tells the other end.
  func fail(_ end: RelayEnd) {
    sockets.send(.closed(end), of: self)
    over(end)
    report()
  }

  /// The relay knows nothing of it any more.
  func over(_ end: RelayEnd) {
    switch state {
    case .connecting, .open:
      failure = sockets.error(end, of: self)
      state = .ended
    case .ended, .closed: break
    }
  }

  // MARK: LinkSocket

  var sendsLater: Bool { true }

  func start(_ ready: @escaping (_ isReadable: Bool, _ isWritable: Bool) -> Void) {
    self.ready = ready
    if case .open = state { sockets.send(.opened, of: self) }
    report()
  }

  private var events: (isReadable: Bool, isWritable: Bool) {
    switch state {
    case .connecting, .closed: (false, false)
    case .open: (wanted.reading && !arrived.isEmpty, wanted.writing && room > 0)
    // As a system tells who waits to write, too: writing goes nowhere, and would be reported for ever.
    case .ended: (wanted.reading || wanted.writing, false)
    }
  }

  func report() {
    guard !isReporting, ready != nil, events.isReadable || events.isWritable else { return }
    isReporting = true
    sockets.later { [self] in
      isReporting = false
      let events = events
      guard events.isReadable || events.isWritable else { return }
      ready?(events.isReadable, events.isWritable)
      report()
    }
  }

  func watch(reading: Bool, writing: Bool) {
    wanted = (reading, writing)
    report()
  }

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    guard !arrived.isEmpty else { return isOver ? .closed : .drained }
    let bytes = takeArrived(atMost: limit)
    let isFull = !arrived.isEmpty
    consumed += UInt64(bytes.count)
    if !isOver, consumed - window.granted >= RelayWindow.step {
      window.grant(consumed, RelayWindow.largest)
      sockets.send(.credit(consumed, limit: consumed + RelayWindow.largest), of: self)
    }
    body(bytes, nil)
    return isFull ? .full : .drained
  }

  /// As many pieces as are within the limit, in one; and at least a part of the first.
  private func takeArrived(atMost limit: Int) -> [UInt8] {
    var (count, pieces) = (0, 0)
    while pieces < arrived.count, count + arrived[pieces].count <= limit {
      count += arrived[pieces].count
      pieces += 1
    }
    guard pieces > 0 else {
      let part = [UInt8](arrived[0].prefix(limit))
      arrived[0] = arrived[0].dropFirst(limit)
      return part
    }
    let all = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      let room = UnsafeMutableRawBufferPointer(buffer)
      for piece in arrived[..<pieces] {
        piece.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: room[filled...]).copyMemory(from: $0) }
        filled += piece.count
      }
    }
    arrived.removeFirst(pieces)
    return all
  }

  var isOver: Bool {
    switch state {
    case .connecting, .open: false
    case .ended, .closed: true
    }
  }

  /// Bytes that may be sent now.
  private var room: Int { messages < RelayWindow.messagesOfSender ? Int(limit - sent) : 0 }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    guard case .open = state else { return .bytes(0) }
    let count = min(bytes.count, room)
    var taken = 0
    while taken < count {
      let next = min(taken + RelayFrame.pieceSize, count)
      let piece = [UInt8](UnsafeRawBufferPointer(rebasing: bytes[taken..<next]), room: next - taken)
      sockets.send(.data(sent, piece[...]), of: self)
      sent += UInt64(next - taken)
      messages += 1
      taken = next
    }
    return .bytes(count)
  }

  var unread: Int { arrived.reduce(0) { $0 + $1.count } }
  /// Links with relays have heartbeats.
  func probe() {}

  func close() {
    if !isOver { sockets.send(.closed(.ended), of: self) }
    state = .closed
    ready = nil
    sockets.release(self)
  }
}
