import CLinux

/// Bytes that are to be in memory only while they are used.
public enum Secret {
  /// Overwrites all of them. The array must have no copy: that one would stay.
  public static func erase(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { bytes in if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) } }
  }
}
