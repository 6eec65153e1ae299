// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueTransport

/// The changes in folders, by inotify. The folders are added first, on one thread; then the loop watches them.
final class FolderChanges: @unchecked Sendable {
  /// A folder that is watched.
  private struct Place {
    let number: Int32
    /// The only name that counts, in a folder that is watched for the sake of one that is not there; nil: all count.
    let name: [UInt8]?
  }

  private let fd: Int32
  private var places: [Place] = []
  private var watch: Watch?
  /// False if the system refused to watch a folder.
  private(set) var isComplete = true

  /// Nil if the system has no inotify instance left.
  init?() {
    fd = linux_inotify()
    guard fd >= 0 else { return nil }
  }

  deinit { _ = CLinux.close(fd) }

  /// Watches a folder; if it is not there, the nearest one above it, until the next one on the way appears.
  /// - Parameter path: absolute.
  func add(_ path: String) { add(path, only: nil) }

  /// - Parameter name: the only name in it that counts; nil: all count.
  func add(_ path: String, only name: String?) {
    let all =
      IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
    var problem = add(path, UInt32(all), name.map { Array($0.utf8) })
    var folder = Array(path.utf8)
    while problem == ENOENT || problem == ENOTDIR, let slash = folder.lastIndex(of: UInt8(ascii: "/")) {
      let name = Array(folder[(slash + 1)...])
      folder.removeLast(folder.count - slash)
      let above = folder.isEmpty ? "/" : String(decoding: folder, as: UTF8.self)
      problem = add(above, UInt32(IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF), name)
    }
    if problem != 0 { isComplete = false }
  }

  /// A folder that is on the way to several others, or is watched itself, keeps all its events.
  /// - Returns: 0, or the number of the system's error.
  private func add(_ path: String, _ events: UInt32, _ name: [UInt8]?) -> Int32 {
    let number = inotify_add_watch(fd, path, events | UInt32(IN_ONLYDIR) | UInt32(IN_MASK_ADD))
    guard number >= 0 else { return linux_errno() }
    places.append(Place(number: number, name: name))
    return 0
  }

  /// Tells the owner that events have come, until `close`; the owner calls `takeEvents`. Changes since a folder was
  /// added count.
  func start(on loop: Loop, for owner: any WatchOwner) throws(SegueError) {
    watch = try Watch(fd, on: loop, for: owner)
  }

  func close() {
    watch?.close()
    watch = nil
  }

  /// Whether one of the events that have come counts.
  func takeEvents() -> Bool {
    var isChanged = false
    withUnsafeTemporaryAllocation(byteCount: 8_192, alignment: 8) { buffer in
      while true {
        let size = read(fd, buffer.baseAddress, buffer.count)
        guard size > 0 else { return }
        var offset = 0
        while offset + MemoryLayout<inotify_event>.size <= size {
          let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
          let start = offset + MemoryLayout<inotify_event>.size
          let end = start + Int(event.len)
          guard end <= size else { return }
          let name = buffer[start..<end].prefix { $0 != 0 }
          isChanged = isChanged || counts(event.wd, event.mask, name)
          offset = end
        }
      }
    }
    return isChanged
  }

  private func counts(_ number: Int32, _ mask: UInt32, _ name: Slice<UnsafeMutableRawBufferPointer>) -> Bool {
    // Events were lost, or the folder itself is gone.
    if mask & UInt32(IN_Q_OVERFLOW | IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF) != 0 { return true }
    return places.contains { $0.number == number && ($0.name == nil || name.elementsEqual($0.name ?? [])) }
  }
}
