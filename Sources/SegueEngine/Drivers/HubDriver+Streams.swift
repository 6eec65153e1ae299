// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Streams that cross links, and the descriptors that apps pass to the hub or get from it.
extension HubDriver {
  /// The endpoint of a stream is readable or writable.
  public func streamReady(_ number: UInt64, isReadable: Bool) {
    guard let forwarder = streams[number] else { return }
    if isReadable { forwarder.becameReadable() }
    forward(forwarder)
    flush()
  }

  /// Handles descriptors that came from apps of this device, or go to them.
  func transferDescriptors() {
    for transfer in engine.takeTransfers() {
      switch transfer {
      case .link(let request, let descriptor):
        do throws(SegueError) {
          try environment.openLink(descriptor, for: request)
        } catch {
          engine.refuse(request, error)
        }
      case .outgoing(let stream, let descriptor):
        let number = takeNumber()
        do throws(SegueError) {
          add(stream, try environment.openStream(descriptor, as: number), as: number)
        } catch {
          engine.failed(stream, error)
        }
      case .incoming(let stream):
        let number = takeNumber()
        do throws(SegueError) {
          let (near, far) = try environment.makeStream(as: number)
          engine.connect(stream, far)
          add(stream, near, as: number)
        } catch {
          engine.failed(stream, error)
        }
      }
    }
  }

  private func add(_ stream: LinkedStream, _ endpoint: any StreamEndpoint, as number: UInt64) {
    stream.setNumber(number)
    let forwarder = StreamForwarder(stream, endpoint)
    streams.set(forwarder, as: number)
    forward(forwarder)
  }

  /// Each piece is written before the next is read.
  func forward(_ forwarder: StreamForwarder) {
    hasDeferred = false
    while forwarder.forward(by: engine) {
      while flushPeer() {}
      guard hasDeferred else { continue }
      // The next one in a later turn, behind this one.
      forwarder.readsLater()
      break
    }
    forwarder.watchEndpoint()
    if forwarder.isClosed { streams.remove(forwarder.stream.number) }
  }
}
