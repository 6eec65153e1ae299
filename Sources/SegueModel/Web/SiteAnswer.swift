// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The answer of a site to the question which apps continue its pages (R12.8), as far as it concerns the apps of this
/// device.
public enum SiteAnswer: Sendable, Equatable {
  /// The application identifiers that it lists for Handoff, of those that it was asked for.
  case apps([String])
  /// Its file lists apps for universal links alone.
  case onlyAppLinks
  /// It answers with a page, as sites of a single page do to everything.
  case html
  /// It lists no app, for this reason.
  case nothing(String)

  public static func == (left: SiteAnswer, right: SiteAnswer) -> Bool {
    switch (left, right) {
    case (.apps(let left), .apps(let right)): left.elementsEqual(right, by: { Text.isSame($0, $1) })
    case (.onlyAppLinks, .onlyAppLinks), (.html, .html): true
    case (.nothing(let left), .nothing(let right)): Text.isSame(left, right)
    default: false
    }
  }
}

/// The state of the association with one site: input of the router.
public struct SiteStatus: Sendable {
  /// The answer that counts; nil: there is none, or it is too old.
  public let answer: SiteAnswer?
  /// The date of that answer, in seconds since 1970.
  public let checkedAt: Double
  /// The site has not been reached since that date, for this reason; nil: it was reached the last time.
  public let unreachable: (since: Double, reason: String)?

  public init(answer: SiteAnswer?, checkedAt: Double = 0, unreachable: (since: Double, reason: String)? = nil) {
    self.answer = answer
    self.checkedAt = checkedAt
    self.unreachable = unreachable
  }

  /// Nil: the site lists the app.
  /// - Parameter app: the application identifier.
  public func obstacle(for app: String) -> SiteObstacle? {
    switch answer {
    case .apps(let listed): listed.contains { Text.isSame($0, app) } ? nil : .notListed(checkedAt)
    case .onlyAppLinks: .onlyAppLinks(checkedAt)
    case .html: .html(checkedAt)
    case .nothing(let reason): .nothing(reason, checkedAt)
    case nil: unreachable.map { .unreachable($0.since, $0.reason) } ?? .notAsked
    }
  }
}

/// The reason why an app is not associated with a site that it claims. Dates are in seconds since 1970.
public enum SiteObstacle: Sendable {
  case notAsked
  case notListed(Double)
  case onlyAppLinks(Double)
  case html(Double)
  case nothing(String, Double)
  case unreachable(Double, String)
}

/// The sites that manifests claim, by their hosts. Immutable: another answer makes another.
public final class SiteStatuses: Sendable {
  private let byHost: [TextKey: SiteStatus]

  public init(_ sites: [(host: String, status: SiteStatus)] = []) {
    var byHost: [TextKey: SiteStatus] = [:]
    for site in sites { byHost[TextKey(site.host)] = site.status }
    self.byHost = byHost
  }

  /// - Parameter host: of the file: that of a claim.
  public subscript(host: String) -> SiteStatus? { byHost[TextKey(host)] }
}
