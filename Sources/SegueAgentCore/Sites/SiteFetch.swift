// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A request for the file of a site (R12.8). It names a host and one of two paths, and nothing of the user.
public struct SiteFetch: Sendable {
  /// A path of the file.
  public enum Path: UInt64, Sendable {
    case wellKnown = 0
    /// Asked only if the other one answers 404.
    case root = 1

    public var text: StaticString {
      switch self {
      case .wellKnown: "/.well-known/apple-app-site-association"
      case .root: "/apple-app-site-association"
      }
    }
  }

  /// In lower case, without a trailing dot.
  public let host: String
  public let path: Path
  /// Whether the user's settings may let the host have a private address.
  public let isForDevelopers: Bool

  public init(host: String, path: Path, isForDevelopers: Bool) {
    self.host = host
    self.path = path
    self.isForDevelopers = isForDevelopers
  }
}

/// The end of such a request.
public enum SiteFetchResult: Sendable {
  /// The site has answered with this status: with 200 the body is that of the answer, otherwise it is empty.
  case answered(status: Int, body: [UInt8])
  /// No answer that counts has come, for this reason: no connection, no valid certificate, an answer that is too long.
  case failed(String)
}

/// Asks sites. The product has a process for each request, the fleet simulated sites.
public protocol SiteFetcher: AnyObject {
  /// - Parameter done: called once, in a later turn, unless the agent ends before.
  func fetch(_ request: SiteFetch, _ done: @escaping (SiteFetchResult) -> Void)
}
