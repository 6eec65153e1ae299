// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The folders of the user (R13.4): containers that each app of the user has, beside those that it registers itself.
///
/// Their text is that of the file `segue/folders`: a line each, with an identifier, a tab, and an absolute path. The
/// agent adds a tab and the path without symbolic links when it tells apps. Empty lines and those that begin with `#`
/// do not count.
public struct UserFolders: Sendable {
  /// Bytes of such a text.
  public static let sizeLimit = 32 * 1024

  /// At most `Limits.containersPerApp`. Of folders with one identifier the first counts: two checkouts of one
  /// repository are one folder.
  public private(set) var list: [Container] = []
  /// The first line that cannot be used; nil if all can.
  public private(set) var problem: SegueError?

  public static let none = UserFolders([])

  /// Reads a text from outside. A line that cannot be used does not count.
  public init(_ text: [UInt8]) {
    guard text.count <= Self.sizeLimit else {
      problem = SegueError(.limitExceeded, "folders: \(text.count) bytes, at most \(Self.sizeLimit) are read")
      return
    }
    var (number, start) = (0, 0)
    while start < text.count {
      let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
      number += 1
      do throws(SegueError) {
        try add(text[start..<end])
      } catch {
        if problem == nil { problem = SegueError(error.status, "folders: line \(number): \(error.message)") }
      }
      start = end + 1
    }
  }

  private mutating func add(_ line: ArraySlice<UInt8>) throws(SegueError) {
    guard let first = line.first, first != UInt8(ascii: "#") else { return }
    let parts = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
    guard parts.count == 2 || parts.count == 3 else {
      throw SegueError(.malformed, "expected an identifier, a tab and a path")
    }
    guard line.withUnsafeBytes({ UTF8Text.isValid($0) }) else { throw SegueError(.malformed, "is not UTF-8") }
    let real = parts.count == 3 && parts[2].first == FilePath.slash ? Array(parts[2]) : nil
    let container = try Container(
      identifier: Text.decoded(Array(parts[0])), folder: Text.decoded(Array(parts[1])), realFolder: real)
    guard !list.contains(where: { $0.identifierBytes == container.identifierBytes }) else { return }
    guard list.count < Limits.containersPerApp else {
      throw SegueError(.limitExceeded, "at most \(Limits.containersPerApp) folders count")
    }
    list.append(container)
  }

  /// The same as containers. A second name of a folder does not count.
  public var containers: Containers {
    var containers = Containers()
    for container in list {
      do throws(SegueError) { try containers.add(container) } catch { continue }
    }
    return containers
  }

  /// The text for apps. A folder that does not fit is left out.
  /// - Parameter real: says the path of a folder without symbolic links; nil if there is none.
  public func text(_ real: (_ folder: [UInt8]) -> [UInt8]?) -> [UInt8] {
    var text: [UInt8] = []
    for container in list {
      var line = container.identifierBytes + [UInt8(ascii: "\t")] + container.folder
      if let path = real(container.folder), !path.contains(UInt8(ascii: "\n")), !path.contains(UInt8(ascii: "\t")) {
        line += [UInt8(ascii: "\t")] + path
      }
      line.append(UInt8(ascii: "\n"))
      if text.count + line.count <= Self.sizeLimit { text += line }
    }
    return text
  }
}
