// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A descriptor that travels with a message. Subclasses hold the system's descriptor, and close it when the last
/// reference is gone.
open class PassedDescriptor {
  /// Stands for a descriptor that the system has closed, because this process cannot open more.
  public let isLost: Bool

  public init(isLost: Bool = false) { self.isLost = isLost }
}

/// The descriptors that go with the messages of one end of a connection.
struct MessageDescriptors {
  /// Those of the queued messages, in the same order.
  var waiting: [PassedDescriptor] = []
  /// The one that goes with the next byte that is sent.
  var next: PassedDescriptor?
}
