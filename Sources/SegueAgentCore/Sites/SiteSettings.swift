// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The settings of the user for one host (R12.9): what `segue apps --site` writes into `sites` of the settings folder,
/// an object of objects by host.
public struct SiteSettings: Sendable {
  /// Bytes of the file.
  public static let sizeLimit = 64 * 1024

  /// Whether the host may have addresses that are not routable on the whole Internet: only for claims of developers.
  public private(set) var allowsPrivate = false
  public private(set) var port: UInt16 = 443
  /// The path of a file of certificates that are trusted in place of the system's; nil: the system's.
  public private(set) var authorities: String?

  public init() {}

  /// - Parameter file: JSON: {"HOST": {"private": bool, "port": 1 to 65535, "ca": an absolute path}}.
  /// Throws MALFORMED, which names host and key.
  public init(_ file: UnsafeRawBufferPointer, for host: String) throws(SegueError) {
    guard file.count <= Self.sizeLimit else {
      throw SegueError(.malformed, "sites: more than \(Self.sizeLimit) bytes")
    }
    let settings: Value
    do throws(SegueError) {
      settings = try Value(json: file, .plain)
    } catch {
      throw SegueError(.malformed, "sites: \(error.message)")
    }
    guard settings.kind == .dictionary else { throw SegueError(.malformed, "sites: is no JSON object") }
    guard let own = settings[host] else { return }
    guard let entries = own.entries else { throw SegueError(.malformed, "sites: \(host): is no JSON object") }
    for entry in entries {
      let key = entry.key.string ?? ""
      switch true {
      case Text.isSame(key, "private"):
        guard let allows = entry.value.bool else { throw Self.wrong(host, "private", "true or false") }
        allowsPrivate = allows
      case Text.isSame(key, "port"):
        guard let number = entry.value.int64.flatMap({ UInt16(exactly: $0) }), number > 0 else {
          throw Self.wrong(host, "port", "1 to 65535")
        }
        port = number
      case Text.isSame(key, "ca"):
        guard let path = entry.value.string, path.utf8.first == UInt8(ascii: "/"), !Text.has(path, 0) else {
          throw Self.wrong(host, "ca", "an absolute path")
        }
        authorities = path
      default: throw SegueError(.malformed, "sites: \(host): there is no setting '\(key)'")
      }
    }
  }

  private static func wrong(_ host: String, _ key: StaticString, _ expected: StaticString) -> SegueError {
    SegueError(.malformed, "sites: \(host): \(key): must be \(expected)")
  }
}
