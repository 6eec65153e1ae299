/// The hub's end of the socket that an app has for a stream which crosses a link. No call of it waits.
public protocol StreamEndpoint: AnyObject {
  /// Reads once what the app has written.
  /// - Returns: the number of bytes, 0 if there are none now; nil: the app writes no more.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int?
  /// Writes once what the app is to read.
  /// - Returns: the number of bytes that were taken; nil: the app reads no more.
  func write(_ bytes: UnsafeRawBufferPointer) -> Int?
  func shutDown(reading: Bool, writing: Bool)
  /// Whether the app has closed its end. If both ends are shut down for writing it may look so.
  var isOtherEndClosed: Bool { get }
  /// Sets what the owner is told of from now on: that there is something to read, or room to write.
  func watch(reading: Bool, writing: Bool)
  /// Closes this end. Nothing is told of it afterwards. A second call does nothing.
  func close()
}
