import CLinux
import SegueModel

/// Calls back on the library thread when files come to a runtime folder or go: perhaps another generation of the hub.
public final class FolderWatcher {
  private let fd: Int32
  private var watch: Watch?

  public init(_ folder: RuntimeFolder) throws(SegueError) {
    let fd = linux_inotify()
    guard fd >= 0 else { throw .system("inotify") }
    guard inotify_add_watch(fd, folder.path, UInt32(IN_MOVED_TO | IN_DELETE)) >= 0 else {
      let number = linux_errno()
      _ = CLinux.close(fd)
      throw .system("watching \(folder.path)", number)
    }
    self.fd = Descriptors.own(fd)
  }

  deinit { Descriptors.close(fd) }

  /// Nothing happens if it has started.
  public func start(on loop: Loop, _ body: @escaping () -> Void) throws(SegueError) {
    guard watch == nil else { return }
    watch = try Watch(fd, on: loop) { [unowned(unsafe) self] _, _ in
      // `close` comes before this object goes.
      self.drain()
      body()
    }
  }

  public func close() {
    watch?.close()
    watch = nil
  }

  private func drain() {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      while read(fd, buffer.baseAddress, buffer.count) > 0 {}
    }
  }
}
