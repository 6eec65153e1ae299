// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Arrays of bytes that grow in bulk: one that grows by itself is copied byte by byte in Embedded mode.
extension [UInt8] {
  /// An array of `room` bytes: those of `content`, which are at most as many, then arbitrary ones.
  public init(_ content: UnsafeRawBufferPointer, room: Int) {
    self.init(unsafeUninitializedCapacity: room) { buffer, count in
      UnsafeMutableRawBufferPointer(buffer).copyMemory(from: content)
      count = room
    }
  }

  /// The same as `append(contentsOf:)`.
  public mutating func append(bytes more: UnsafeRawBufferPointer) {
    if capacity - count < more.count {
      var larger: [UInt8] = []
      larger.reserveCapacity(Swift.max(count + more.count, 2 * count))
      withUnsafeBytes { larger.append(contentsOf: $0) }
      self = larger
    }
    append(contentsOf: more)
  }

  public mutating func append(bytes more: [UInt8]) { more.withUnsafeBytes { append(bytes: $0) } }
  public mutating func append(bytes more: ArraySlice<UInt8>) { more.withUnsafeBytes { append(bytes: $0) } }
}
