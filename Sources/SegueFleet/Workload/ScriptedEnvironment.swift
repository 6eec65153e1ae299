// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel
import SegueWire

/// The device of a scripted app. Streams stay in the fleet, and identifiers are those of the script.
final class ScriptedEnvironment: FleetEnvironment {
  /// Set while the app is open.
  var script: ScriptedApp?
  /// The next identifier to draw; nil: the fleet draws it.
  var nextIdentifier: Identifier?

  init(on device: FleetDevice) { super.init(on: device, SingleThread()) }

  override func drawIdentifier() throws(SegueError) -> Identifier {
    if let next = nextIdentifier.take() { return next }
    return try super.drawIdentifier()
  }

  override func engineCalled() {
    super.engineCalled()
    script?.checkSaves()
    script?.engineCalled()
  }

  override func notifyHost() {
    script?.checkSaves()
    script?.engineCalled()
  }

  override var hasCallbacks: Bool { super.hasCallbacks || script?.hasMoreCallbacks ?? false }

  override func runCallbacks() {
    super.runCallbacks()
    script?.callbacksHaveRun()
  }

  override func died() {
    script?.died()
    super.died()
  }

  override func left() { script = nil }

  override func makeStream() throws(SegueError) -> (near: any LocalStreamEnd, far: PassedDescriptor) {
    guard let process else { throw SegueError(.invalidState, "app: is not open") }
    let (near, far) = process.makeSockets()
    return (ScriptedStreamEnd(near), FleetDescriptor(far))
  }

  override func keep(_ socket: FleetSocket, of request: StreamRequest) {
    guard request.attachment == nil else {
      if let script { script.keepAttachment(socket, of: request) } else { socket.close() }
      return
    }
    guard let app, let engine = app.engine else { return socket.close() }
    app.forgetDoneStreams(engine)
    app.add(LiveStream(request.id, ScriptedStreamEnd(socket), app: app))
  }

  override func attend(to socket: FleetSocket) { script?.attend(to: socket) }
}

/// The lock of what one thread uses.
private final class SingleThread: AppMonitor {
  func lock() {}
  func unlock() {}
  func wait() {}
  func notifyAll() {}
}

/// The local end of a stream of a scripted app, which reads and writes the simulated socket itself.
final class ScriptedStreamEnd: LocalStreamEnd {
  let socket: FleetSocket
  /// Whether the app has lost it, and the library is to find it closed.
  var isLost = false

  init(_ socket: FleetSocket) { self.socket = socket }

  func giveAway() -> Int32 { -1 }
  func close() { socket.close() }
  var isOpen: Bool { !isLost && socket.isHeld }
  var otherEnd: StreamOtherEnd? { isOpen ? socket.otherEnd : nil }
  func shutDown(readingToo: Bool) { if isOpen { socket.shutDown(reading: readingToo, writing: true) } }
}
