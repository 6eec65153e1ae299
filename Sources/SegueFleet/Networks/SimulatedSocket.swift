// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueSystem
import SegueWire

/// Stands for a TCP socket: an end of a wire, which reports events as a loop does, again and again while they last.
final class SimulatedSocket: LinkSocket {
  private let wire: Wire
  private let end: Int
  private let sockets: HostSockets
  private var isConnecting: Bool
  private(set) var failure: SegueError?
  private var arrived: [UInt8] = []
  private var (hasEnded, isClosed) = (false, false)
  private var wanted = (reading: true, writing: false)
  private var ready: ((_ isReadable: Bool, _ isWritable: Bool) -> Void)?
  /// Whether a report is under way.
  private var isReporting = false

  init(_ wire: Wire, _ end: Int, in sockets: HostSockets) {
    (self.wire, self.end, self.sockets) = (wire, end, sockets)
    isConnecting = end == 0
    wire.open(end) { [self] event in handle(event) }
    sockets.keep(self)
  }

  private func handle(_ event: Wire.Event) {
    switch event {
    case .connected: isConnecting = false
    case .refused:
      isConnecting = false
      failure = SegueError(.system, "nobody listens there")
    case .bytes(let bytes): arrived += bytes
    case .closed: hasEnded = true
    }
    report()
  }

  func start(_ ready: @escaping (_ isReadable: Bool, _ isWritable: Bool) -> Void) {
    self.ready = ready
    report()
  }

  private var events: (isReadable: Bool, isWritable: Bool) {
    (wanted.reading && (!arrived.isEmpty || hasEnded), wanted.writing && !isConnecting)
  }

  private func report() {
    guard !isReporting, !isClosed, ready != nil, events.isReadable || events.isWritable else { return }
    isReporting = true
    sockets.later(0) { [self] in
      isReporting = false
      guard !isClosed, events.isReadable || events.isWritable else { return }
      ready?(events.isReadable, events.isWritable)
      report()
    }
  }

  func watch(reading: Bool, writing: Bool) {
    wanted = (reading, writing)
    report()
  }

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    guard !arrived.isEmpty else { return hasEnded ? .closed : .drained }
    let bytes = Array(arrived.prefix(limit))
    arrived.removeFirst(bytes.count)
    let isFull = bytes.count == limit
    body(bytes, nil)
    return isFull ? .full : .drained
  }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    guard !isClosed, !isConnecting else { return .bytes(0) }
    if bytes.count > 0 { wire.send(Array(bytes), from: end) }
    return .bytes(bytes.count)
  }

  var unread: Int { arrived.count }
  func probe() {}

  func close() {
    guard !isClosed else { return }
    isClosed = true
    ready = nil
    wire.close(end)
    sockets.release(self)
  }

  /// The network is whole again.
  func resumed() { wire.resumed() }

  /// The process is gone.
  func drop(isPowerLost: Bool) {
    isClosed = true
    ready = nil
    if isPowerLost { wire.vanish(end) } else { wire.close(end) }
  }
}
