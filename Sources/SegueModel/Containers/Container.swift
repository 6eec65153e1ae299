// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A folder that exists on all devices of a user under one identifier, such as a synchronised folder (R5.3).
public final class Container: Sendable {
  /// 1…255 bytes of UTF-8, the same on all devices.
  public let identifier: String
  let identifierBytes: [UInt8]
  /// The path that the app has registered: absolute, without a slash at the end.
  public let folder: [UInt8]
  /// The path without symbolic links; nil if the folder was not there when it was looked up.
  public let realFolder: [UInt8]?
  /// Before the path of a URL.
  static let scheme: StaticString = "file://"
  /// The URL of the registered folder: of it and what follows it in a reference, URLs are made.
  let url: [UInt8]
  /// The start of the encodings of all references to its files.
  let referenceStart: [UInt8]

  /// Throws INVALID_ARGUMENT, LIMIT_EXCEEDED.
  /// - Parameters:
  ///   - folder: an absolute path; a slash at its end does not count.
  ///   - realFolder: what the system says of it.
  public convenience init(identifier: String, folder: String, realFolder: [UInt8]?) throws(SegueError) {
    try Text.check(identifier, "identifier", atMost: Limits.identifier)
    guard !Text.has(identifier, 0) else { throw SegueError(.invalidArgument, "identifier: has a NUL byte") }
    self.init(identifier, try Container.path(of: folder), realFolder)
  }

  private init(_ identifier: String, _ folder: [UInt8], _ realFolder: [UInt8]?) {
    self.identifier = identifier
    identifierBytes = Text.bytes(identifier)
    self.folder = folder
    self.realFolder = realFolder
    var url = Array(
      UnsafeBufferPointer(start: Container.scheme.utf8Start, count: Container.scheme.utf8CodeUnitCount))
    FilePath.append(folder, to: &url, keepingSlashes: true)
    self.url = url
    referenceStart = ContainerReference.start(identifierBytes)
  }

  /// The same, with the folder that is there by now.
  func found(at realFolder: [UInt8]) -> Container { Container(identifier, folder, realFolder) }

  /// Checks the path of a folder, and removes the slash at its end.
  public static func path(of folder: String) throws(SegueError) -> [UInt8] {
    try Text.check(folder, "folder", atMost: Limits.path)
    var path = Text.bytes(folder)
    if path.last == FilePath.slash { path.removeLast() }
    var url: [UInt8] = []
    FilePath.append(path, to: &url, keepingSlashes: true)
    guard path.last != FilePath.slash, url.withUnsafeBytes({ $0.isProperPath(from: 0, to: $0.count) }) else {
      throw SegueError(
        .invalidArgument, "folder: must be an absolute path below /, without NUL and without the components . and ..")
    }
    return path
  }

  /// The offset behind the folder's path, registered or real, with which the path of a URL begins; nil if with neither.
  func end(in path: UnsafeRawBufferPointer) -> Int? {
    if let end = path.endOfFolder(folder) { return end }
    guard let realFolder else { return nil }
    return path.endOfFolder(realFolder)
  }

  /// Whether an encoded path begins with the registered path.
  func isRegistered(_ path: [UInt8]) -> Bool { path.withUnsafeBytes { $0.endOfFolder(folder) != nil } }

  /// Whether this is a path of the folder.
  func isAt(_ path: [UInt8]) -> Bool { folder == path || realFolder == path }
}

/// A file or folder inside a container.
public struct ContainerPlace: Sendable {
  public let container: Container
  /// The path below the folder, decoded: no slash at the start, no component `.` or `..`, no NUL; a slash at the end if
  /// the URL has one. Empty: the folder itself.
  public let path: [UInt8]

  /// Whether it is the same file, however its URL is written.
  public func isSame(as other: ContainerPlace) -> Bool { container === other.container && path == other.path }
}
