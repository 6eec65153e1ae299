// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueTransport
import SegueWire

/// A descriptor of this process that travels with a message.
public final class OwnedDescriptor: PassedDescriptor {
  /// Negative: another has it.
  public private(set) var fd: Int32

  init(_ fd: Int32) {
    self.fd = fd
    super.init()
  }

  /// Passes ownership to the caller.
  public func take() -> Int32 {
    defer { fd = -1 }
    return fd
  }

  deinit { Descriptors.closeUntrusted(fd) }
}

extension PassedDescriptor {
  /// For a descriptor that came over a socket, or goes to one.
  public var owned: OwnedDescriptor { unsafeDowncast(self, to: OwnedDescriptor.self) }
}

/// Reads and writes of a `ByteConnection`.
extension Socket {
  static func read(
    _ fd: Int32, atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void
  ) -> ByteRead {
    switch read(fd, atMost: limit, { (bytes: consuming [UInt8], came: Came) in body(bytes, came.takeDescriptor()) }) {
    case .full: .full
    case .drained: .drained
    case .closed: .closed
    }
  }

  static func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?, to fd: Int32) -> ByteWrite {
    switch write(bytes, descriptor?.owned.fd ?? -1, to: fd) {
    case .bytes(let count): .bytes(count)
    case .refused: .refused
    }
  }
}

extension Socket.Came {
  /// The descriptor, if one came.
  fileprivate func takeDescriptor() -> PassedDescriptor? {
    switch self {
    case .none: nil
    case .one(let fd): OwnedDescriptor(fd)
    case .lost: PassedDescriptor(isLost: true)
    }
  }
}
