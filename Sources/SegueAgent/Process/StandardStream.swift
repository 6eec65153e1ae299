import CLinux

/// Standard output and standard error.
enum StandardStream: Int32 {
  case output = 1
  case error = 2

  /// Writes all of the text, unless the reader is gone.
  func write(_ text: String) {
    let bytes = Array(text.utf8)
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { CLinux.write(rawValue, $0.baseAddress! + written, $0.count - written) }
      if count < 0, linux_errno() == EINTR { continue }
      guard count > 0 else { return }
      written += count
    }
  }
}
