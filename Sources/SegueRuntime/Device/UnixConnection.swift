import CLinux
import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// A connection of the hub: a Unix socket that the loop watches. For the library thread.
final class UnixConnection: ByteConnection {
  let fd: Int32
  /// The driver's number for it.
  let number: UInt64
  /// Whether an app has handed it over, and may have it still.
  private let isHanded: Bool
  private var watch: Watch?
  private var isWriting = false

  /// Takes over the socket, unless this throws.
  init(
    _ fd: Int32, as number: UInt64, isHanded: Bool = false, on loop: Loop,
    _ ready: @escaping (_ isReadable: Bool, _ isWritable: Bool) -> Void
  ) throws(SegueError) {
    self.fd = fd
    self.number = number
    self.isHanded = isHanded
    watch = try Watch(fd, on: loop, ready)
  }

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    Socket.read(fd, atMost: limit, body)
  }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    Socket.write(bytes, descriptor, to: fd)
  }

  func watch(reading: Bool, writing: Bool) {
    isWriting = writing
    watch?.watch(reading: reading, writing: writing)
  }

  var pollable: PollableConnection? { PollableConnection(fd: fd, number: number, isWriting: isWriting) }

  func close() {
    guard let watch else { return }
    watch.close()
    self.watch = nil
    Descriptors.closeConnection(fd, isShared: isHanded)
  }
}
