// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Reads the references of one activity document: what they are on this device, and what was found out about them.
public final class ReferenceReader {
  private let containers: Containers
  /// Those of the origin, if it is on this device.
  private let ofOrigin: Containers
  /// Identifiers of containers that the app lacks, each once, as they come; not more than `most`.
  public private(set) var missing: [String] = []
  /// The URL here of the reference that came where a document's URL stands; empty if none came, or the app lacks its
  /// container.
  private var documentURL: [UInt8] = []

  private static let most = 8

  /// - Parameters:
  ///   - containers: those of the app that gets the activity.
  ///   - origin: the folders of the origin, by which a file of a container that the app lacks is found (R13.4).
  public init(_ containers: Containers, _ origin: OriginFolders = .none) {
    self.containers = containers
    ofOrigin = origin.containers
  }

  /// The URL here; nil if it is no reference that an app may send. A file beneath a folder stays beneath it. Throws
  /// LIMIT_EXCEEDED if the URL is longer than that of a document may be.
  /// - Parameter isDocument: whether it stands where the URL of the document does.
  func url(_ identifier: [UInt8], _ rest: [UInt8], isDocument: Bool) throws(SegueError) -> [UInt8]? {
    guard ContainerReference.isIdentifier(identifier), ContainerReference.isRest(rest) else { return nil }
    let own = containers[identifier]
    guard let container = own ?? ofOrigin[identifier] else { return missing(identifier) + rest }
    let url = container.url + rest
    guard url.count <= Limits.url else {
      throw SegueError(
        .limitExceeded,
        "a file of \"\(container.identifier)\" has a URL of \(url.count) bytes here; \(Limits.url) are allowed"
      )
    }
    // The app has checked no URL of the origin's own.
    if own != nil, isDocument, !AbsoluteURL.hasMore(url) { documentURL = url }
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
    return ContainerReference.url(identifier)
  }
}
