// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The containers that an app has registered (R5.3). Pure: it compares bytes, and asks no system.
public struct Containers: Sendable {
  /// Invariant: at most `Limits.containersPerApp`, and no two have one identifier, or one folder.
  private var list: [Container] = []

  public static let none = Containers()

  public init() {}

  public subscript(identifier: String) -> Container? { self[Text.bytes(identifier)] }

  /// The same by the bytes of the identifier.
  @inline(never)
  subscript(identifier: [UInt8]) -> Container? { index(of: identifier).map { list[$0] } }

  var isEmpty: Bool { list.isEmpty }

  @inline(never)
  private func index(of identifier: [UInt8]) -> Int? {
    var index = 0
    while index < list.count {
      if list[index].identifierBytes == identifier { return index }
      index += 1
    }
    return nil
  }

  /// Adds it, in place of the one with its identifier. Throws INVALID_ARGUMENT if another one has its folder,
  /// LIMIT_EXCEEDED.
  public mutating func add(_ container: Container) throws(SegueError) {
    let former = index(of: container.identifierBytes)
    for index in list.indices where index != former {
      if list[index].isAt(container.folder) || container.realFolder.map(list[index].isAt) ?? false {
        throw SegueError(.invalidArgument, "folder: is already that of the container \"\(list[index].identifier)\"")
      }
    }
    if let former {
      list[former] = container
    } else if list.count < Limits.containersPerApp {
      list.append(container)
    } else {
      throw SegueError(.limitExceeded, "identifier: an app has \(Limits.containersPerApp) containers at most")
    }
  }

  /// Those whose folders were not there when they were registered, nor since.
  public var withoutFolder: [Container] { list.filter { $0.realFolder == nil } }

  /// The folder of a container is there now. No effect if it was replaced, or another one has the folder.
  /// - Returns: whether it has changed.
  public mutating func found(_ container: Container, at realFolder: [UInt8]) -> Bool {
    guard let index = list.firstIndex(where: { $0 === container }),
      !list.contains(where: { $0 !== container && $0.isAt(realFolder) })
    else { return false }
    list[index] = container.found(at: realFolder)
    return true
  }

  /// Throws NOT_FOUND.
  public mutating func remove(_ identifier: String) throws(SegueError) {
    guard let index = index(of: Text.bytes(identifier)) else {
      throw SegueError(.notFound, "identifier: there is no such container")
    }
    list.remove(at: index)
  }

  // MARK: - URLs of this device

  /// The place of a `file:` URL in the innermost container whose folder it is in; nil if it is in none. A URL with a
  /// query or a fragment, and a path with `.`, `..`, or an encoded slash or NUL, are in none.
  @inline(never)
  public func place(of url: String) -> ContainerPlace? {
    Text.withBytes(url) { url in
      // A name with ? or # that was not encoded would be another file's.
      guard AbsoluteURL.schemeCount(url) != nil, url.endOfPath() == url.count, let found = find(url),
        let path = found.rest.withUnsafeBytes({ $0.decodedPath(from: min(1, $0.count), to: $0.count) })
      else { return nil }
      return ContainerPlace(container: found.container, path: path)
    }
  }

  /// The URL of a document, by which it is in a container or in none (R5.1): that of its real path, unless both are
  /// the same file of one container, or neither is in one.
  /// - Parameter real: nil if there is no such path.
  public func url(ofDocument url: String, real: String?) -> String {
    guard let real else { return url }
    switch (place(of: url), place(of: real)) {
    case (nil, nil): return url
    case (let named?, let place?) where named.isSame(as: place): return url
    default: return real
    }
  }

  /// Does the same as `place`. Throws INVALID_URL if it is no URL, NOT_FOUND if it is in a container that the app
  /// lacks, NOT_ALLOWED if it is in none.
  public func requirePlace(of url: String) throws(SegueError) -> ContainerPlace {
    if let place = place(of: url) { return place }
    guard AbsoluteURL(url) != nil else { throw SegueError(.invalidURL, "url: not an absolute URL (RFC 3986)") }
    if AbsoluteURL.isFileWithMore(url) { throw SegueError(.invalidURL, "url: \(AbsoluteURL.more)") }
    if let missing = ContainerReference.missing(url) {
      throw SegueError(.notFound, "url: is in the container \"\(missing)\", which the app lacks")
    }
    throw SegueError(.notAllowed, "url: is not a file: URL inside a container of the app")
  }

  /// The innermost container of a `file:` URL, and what follows the folder's path, as in `ContainerReference`. The URL
  /// that is made of both has the same container, and the same rest.
  @inline(never)
  func find(_ url: UnsafeRawBufferPointer) -> (container: Container, rest: [UInt8])? {
    guard !list.isEmpty, var path = url.pathOfFile(), var found = innermost(path),
      path.withUnsafeBytes({ $0.isProperPath(from: 0, to: $0.count) })
    else { return nil }
    // A file that is named by a real path may be in a container inside of this one, which the registered path shows.
    while !found.container.isRegistered(path) {
      path = Array(found.container.url.dropFirst(Container.scheme.utf8CodeUnitCount)) + Array(path[found.end...])
      // The next rest is shorter, or follows a registered path.
      guard let inner = innermost(path) else { return nil }
      found = inner
    }
    var rest = Array(path[found.end...])
    rest.append(contentsOf: url.part(url.endOfPath(), url.count))
    return (found.container, rest)
  }

  /// The container whose folder is the deepest around an encoded path, and the offset behind that folder.
  private func innermost(_ path: [UInt8]) -> (container: Container, end: Int)? {
    path.withUnsafeBytes { path in
      var found: (container: Container, end: Int)?
      for container in list {
        guard let end = container.end(in: path), end > found?.end ?? 0 else { continue }
        found = (container, end)
      }
      return found
    }
  }
}
