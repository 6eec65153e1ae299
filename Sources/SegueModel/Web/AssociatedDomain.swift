// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A claim of an app on the pages of a site (R12.8): those of a host, or of all hosts below it. A claim alone gives
/// nothing: the site has to list the app.
public struct AssociatedDomain: Sendable {
  /// The host, in lower case, without `*.`; the site's file lies on it.
  public let host: String
  /// Whether the claim is for the hosts below: one label or more before the host.
  public let isWildcard: Bool
  /// Whether the user's settings may let the site have a private address.
  public let isForDevelopers: Bool

  private static let service: StaticString = "activitycontinuation:"

  private init(host: String, isWildcard: Bool, isForDevelopers: Bool) {
    self.host = host
    self.isWildcard = isWildcard
    self.isForDevelopers = isForDevelopers
  }

  /// Nil: the entry is for another service than Handoff's.
  /// - Parameter entry: of `com.apple.developer.associated-domains`: `activitycontinuation:example.com`, perhaps with
  ///   `*.` before the host, and with `?mode=…` behind it.
  /// Throws MALFORMED: there is no such host.
  public static func read(_ entry: String) throws(SegueError) -> AssociatedDomain? {
    let bytes = Text.bytes(entry)
    let service = UnsafeBufferPointer(start: service.utf8Start, count: service.utf8CodeUnitCount)
    guard bytes.starts(with: service) else { return nil }
    let claim = bytes.dropFirst(service.count)
    let host = claim.prefix { $0 != UInt8(ascii: "?") }
    let isWildcard = host.starts(with: [UInt8(ascii: "*"), UInt8(ascii: ".")])
    let name = Array(isWildcard ? host.dropFirst(2) : host)
    // All names below a top-level domain belong to nobody.
    guard let name = name.withUnsafeBytes({ HostName.read($0[...]) }), name.isName, isRegistered(name),
      !isWildcard || Text.has(name.text, UInt8(ascii: "."))
    else {
      throw SegueError(.malformed, "expected only an ASCII host after the service, found \(entry)")
    }
    return AssociatedDomain(
      host: name.text, isWildcard: isWildcard, isForDevelopers: isForDevelopers(claim.dropFirst(host.count + 1)))
  }

  /// Whether an app can claim this host, which is written as claims are.
  public static func isHost(_ host: String) -> Bool {
    guard let domain = (try? read(String(joining: "activitycontinuation:\(host)"))) ?? nil else { return false }
    return Text.isSame(domain.host, host)
  }

  /// As it stands in a manifest, without the service.
  public var text: String { isWildcard ? String(joining: "*.\(host)") : host }

  /// Whether a site can have such a host (RFC 1123 §2.1).
  private static func isRegistered(_ name: HostName) -> Bool {
    Text.bytes(name.text).split(separator: UInt8(ascii: ".")).allSatisfy { label in
      !label.contains(UInt8(ascii: "_")) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
    }
  }

  /// - Parameter query: what follows the question mark: `mode=developer`, `mode=managed`, `mode=developer+managed`.
  private static func isForDevelopers(_ query: ArraySlice<UInt8>) -> Bool {
    let mode = Array("mode=".utf8)
    guard query.starts(with: mode) else { return false }
    return query.dropFirst(mode.count).split(separator: UInt8(ascii: "+")).contains {
      $0.elementsEqual("developer".utf8)
    }
  }

  /// Whether the claim is for the page of that origin: the same host, or one below, and the scheme's own port.
  public func covers(_ origin: WebOrigin) -> Bool {
    guard origin.host.isName, origin.hasDefaultPort else { return false }
    guard isWildcard else { return Text.isSame(origin.host.text, host) }
    return Text.withBytes(origin.host.text) { name in
      Text.withBytes(host) { host in
        name.count > host.count + 1 && name[name.count - host.count - 1] == UInt8(ascii: ".")
          && name.suffix(host.count).elementsEqual(host)
      }
    }
  }
}
