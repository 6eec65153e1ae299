// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The hub's end of an app's socket for a stream that crosses a link. No call blocks.
public protocol StreamEndpoint: AnyObject {
  /// Reads bytes of the app once.
  /// - Returns: the number of bytes, 0 if there are none for now; nil if the app has finished writing.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int?
  /// Writes bytes for the app once.
  /// - Returns: the number of bytes accepted; nil if the app no longer reads.
  func write(_ bytes: UnsafeRawBufferPointer) -> Int?
  func shutDown(reading: Bool, writing: Bool)
  /// Whether the app has closed its end. Two ends shut down for writing may look the same.
  var isOtherEndClosed: Bool { get }
  /// Sets the events of which the owner is notified: readable, writable.
  func watch(reading: Bool, writing: Bool)
  /// Closes this end. No events follow. A second call has no effect.
  func close()
}
