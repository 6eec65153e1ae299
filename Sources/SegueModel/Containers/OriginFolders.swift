// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The folders of an origin's containers, for a receiver on the same device that lacks such a container (R13.4).
///
/// Their text has a line for each container that an activity document names: the URL of the container as a receiver
/// without it has it, a tab, and the URL of the folder at the origin. What follows is the same in the URL of a file.
public struct OriginFolders: Sendable {
  /// Bytes of such a text.
  public static let sizeLimit = UserFolders.sizeLimit

  public static let none = OriginFolders([])

  let containers: Containers

  /// Reads a text from outside. A line that cannot be used does not count.
  public init(_ text: [UInt8]) {
    var containers = Containers()
    if text.count <= Self.sizeLimit {
      for line in text.split(separator: UInt8(ascii: "\n")) {
        guard let container = Self.container(line) else { continue }
        do throws(SegueError) { try containers.add(container) } catch { continue }
      }
    }
    self.containers = containers
  }

  private static func container(_ line: ArraySlice<UInt8>) -> Container? {
    let urls = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
    guard urls.count == 2, let identifier = ContainerReference.missing(Text.decoded(Array(urls[0]))),
      // It names the container, and no file in it.
      ContainerReference.url(Text.bytes(identifier)) == Array(urls[0]),
      let folder = AbsoluteURL.filePath(Text.decoded(Array(urls[1]))), folder.withUnsafeBytes({ UTF8Text.isValid($0) })
    else { return nil }
    return try? Container(identifier: identifier, folder: Text.decoded(folder), realFolder: nil)
  }

  /// The text for a document of this origin. A line that does not fit is left out.
  /// - Parameters:
  ///   - document: an activity document, as it travels.
  ///   - containers: those of the origin.
  public static func text(for document: [UInt8], _ containers: Containers) -> [UInt8] {
    guard !containers.isEmpty else { return [] }
    var (text, named): ([UInt8], [[UInt8]]) = ([], [])
    for identifier in document.withUnsafeBytes({ ContainerReference.identifiers(in: $0) })
    where !named.contains(identifier) {
      guard let container = containers[identifier] else { continue }
      named.append(identifier)
      let line =
        ContainerReference.url(identifier) + [UInt8(ascii: "\t")] + container.url + [UInt8(ascii: "\n")]
      if text.count + line.count <= sizeLimit { text += line }
    }
    return text
  }
}
