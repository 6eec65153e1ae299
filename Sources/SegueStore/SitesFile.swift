// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The file `sites` of the state folder: the answers of the sites that manifests claim (R12.9). It can be made again.
extension StateFolder {
  private static let sitesFile = "sites"

  /// - Parameter limit: bytes.
  /// - Returns: the file; empty if there is none, or it cannot be read.
  public func sites(atMost limit: Int) -> [UInt8] {
    let file = PrivateFile.open(fd, Self.sitesFile, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
    guard file >= 0 else { return [] }
    defer { _ = close(file) }
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    let count = bytes.withUnsafeMutableBytes { FileBytes.read(file, at: 0, into: $0) }
    guard 0...limit ~= count else { return [] }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  /// Replaces the file, whole or not at all. Throws SYSTEM.
  public func storeSites(_ bytes: [UInt8]) throws(SegueError) { try store(bytes, as: Self.sitesFile) }
}
