// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Reads the references of one activity document: what they are on this device, and what was found out about them.
public final class ReferenceReader {
  private let containers: Containers
  /// Identifiers of containers that the app lacks, each once, as they come; not more than `most`.
  public private(set) var missing: [String] = []
  /// The URL here of the reference that came where a document's URL stands; empty if none came, or the app lacks its
  /// container.
  private var documentURL: [UInt8] = []

  private static let most = 8

  /// - Parameter containers: those of the app that gets the activity.
  public init(_ containers: Containers) { self.containers = containers }

  /// The URL here; nil if it is no reference that an app may send. A file beneath a folder stays beneath it. Throws
  /// LIMIT_EXCEEDED if the URL is longer than that of a document may be.
  /// - Parameter isDocument: whether it stands where the URL of the document does.
  func url(_ identifier: [UInt8], _ rest: [UInt8], isDocument: Bool) throws(SegueError) -> [UInt8]? {
    guard ContainerReference.isIdentifier(identifier), ContainerReference.isRest(rest) else { return nil }
    guard let container = containers[identifier] else { return missing(identifier) + rest }
    let url = container.url + rest
    guard url.count <= Limits.url else {
      throw SegueError(
        .limitExceeded,
        "a file of \"\(container.identifier)\" has a URL of \(url.count) bytes here; \(Limits.url) are allowed"
      )
    }
    if isDocument, !AbsoluteURL.hasMore(url) { documentURL = url }
    return url
  }

  /// The URL of the document of this activity, which was read; nil unless it came as a reference, and its container is
  /// here (R3.5). Another property may have a dictionary with that key, so the URL is compared.
  public func documentURL(of activity: Activity) -> String? {
    guard !documentURL.isEmpty, let url = activity.documentURL, Text.bytes(url) == documentURL else { return nil }
    return url
  }

  /// The start of the URLs of a container that the app lacks.
  @inline(never)
  private func missing(_ identifier: [UInt8]) -> [UInt8] {
    let name = Text.decoded(identifier)
    if missing.count < Self.most, !missing.contains(where: { Text.isSame($0, name) }) { missing.append(name) }
    let scheme = ContainerReference.scheme
    var url = Array(UnsafeBufferPointer(start: scheme.utf8Start, count: scheme.utf8CodeUnitCount))
    FilePath.append(identifier, to: &url, keepingSlashes: false)
    return url
  }
}
