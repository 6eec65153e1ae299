// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A request for the file of a site (R12.8). It names a host and one of two paths, and nothing of the user.
public struct SiteFetch: Sendable {
  /// A path of the file.
  public enum Path: Sendable {
    case wellKnown
    /// Asked only if the other one answers 404.
    case root

    public var text: StaticString {
      switch self {
      case .wellKnown: "/.well-known/apple-app-site-association"
      case .root: "/apple-app-site-association"
      }
    }

    fileprivate var word: String {
      switch self {
      case .wellKnown: "well-known"
      case .root: "root"
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

  /// The same request as words: to the launcher, and as arguments of the process that asks.
  public var words: [String] {
    isForDevelopers ? [host, path.word, "developer"] : [host, path.word]
  }

  /// Nil: these are no words of a request.
  public init?(words: [String]) {
    guard 2...3 ~= words.count, AssociatedDomain.isHost(words[0]),
      words.count == 2 || Text.isSame(words[2], "developer")
    else { return nil }
    guard let path = [Path.wellKnown, .root].first(where: { Text.isSame($0.word, words[1]) }) else { return nil }
    self.init(host: words[0], path: path, isForDevelopers: words.count == 3)
  }
}

/// The end of such a request.
public enum SiteFetchResult: Sendable {
  /// The site has answered with this status: with 200 the body is that of the answer, otherwise it is empty.
  case answered(status: Int, body: [UInt8])
  /// No answer that counts has come, for this reason: no connection, no valid certificate, an answer that is too long.
  case failed(String)
  /// The site was not asked, for this reason: too many requests wait, or the system has no descriptor or process left.
  case notAsked(String)
}

/// Asks sites. The product has a process for each request, the fleet simulated sites.
public protocol SiteFetcher: AnyObject {
  /// - Parameter done: called once, in a later turn, unless the agent ends before.
  func fetch(_ request: SiteFetch, _ done: @escaping (SiteFetchResult) -> Void)
}
