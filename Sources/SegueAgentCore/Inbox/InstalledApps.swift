// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The programs of this device that may continue an activity, and what is known of them.
public struct InstalledApps {
  /// The apps that have a manifest.
  public var catalogue: Catalogue
  /// The browsers (R12.3).
  public var browsers: Browsers
  /// The desktop's default programs (R13.1).
  public var defaults: DefaultPrograms
  /// The programs that open files (R13.7).
  public var openers: Openers

  public init(
    catalogue: Catalogue = Catalogue(), browsers: Browsers = Browsers(), defaults: DefaultPrograms = DefaultPrograms(),
    openers: Openers = Openers()
  ) {
    (self.catalogue, self.browsers, self.defaults, self.openers) = (catalogue, browsers, defaults, openers)
  }
}

extension AppChoice {
  /// The query to the router.
  var query: RoutingQuery {
    RoutingQuery(offer.description, team: team, bundleIdentifier: offer.bundleIdentifier, origin: offer.origin)
  }
}

extension RoutingQuery {
  init(_ offer: OfferDescription, team: String, bundleIdentifier: String, origin: Identifier?) {
    self.init(
      type: offer.type, team: team, bundleIdentifier: bundleIdentifier, payloadVersion: offer.payloadVersion,
      origin: origin, webOrigin: offer.webOrigin, isPublic: offer.isPublic, contentType: offer.contentType)
  }
}

extension Router {
  /// Chooses the app that continues an offer. Throws NOT_FOUND, which says why no app does.
  func choose(_ choice: AppChoice) throws(SegueError) -> ChosenApp {
    let offer = choice.offer
    let query = choice.query
    let decision = route(query)
    let mayReachPage = mayReachPage(query)
    guard let wanted = choice.wanted else {
      guard let chosen = decision.chosen else { throw Self.none(decision, offer) }
      return Self.app(chosen, choice, mayReachPage)
    }
    guard let chosen = decision.candidates.first(where: { Text.isSame($0.bundleIdentifier, wanted) }) else {
      throw SegueError(
        .notFound, "continue: \(wanted) neither runs nor has a manifest that declares \(offer.description.type)")
    }
    if let obstacle = chosen.obstacles.first { throw Self.error(chosen, obstacle) }
    return Self.app(chosen, choice, mayReachPage)
  }

  /// - Parameter mayReachPage: whether the origin's `user_info` may reach a page of its site (R12.7).
  private static func app(_ chosen: RoutingCandidate, _ choice: AppChoice, _ mayReachPage: Bool) -> ChosenApp {
    var types = DeclaredTypes(chosen.declaration?.types ?? [])
    for app in choice.running where Text.isSame(app.bundleIdentifier, chosen.bundleIdentifier) {
      for type in app.types { types.add(type) }
    }
    let isBrowsing = Activity.isBrowsingWeb(choice.offer.description.type)
    let form: ChosenApp.Form =
      switch chosen.role {
      // An activity that a browser gets enclosed is one that this agent has enclosed (R12.7).
      case .app where isBrowsing && Browser.isHost(chosen.bundleIdentifier): .page(.browserState)
      case .app: .activity
      case .association: .page(.nothing)
      case .siteApp: .page(.ownActivity)
      // The state of a browser is for browsers.
      case .browser, .otherBrowser:
        .page(isBrowsing ? .browserState : mayReachPage ? .enclosedActivity : .nothing)
      case .urlHandler: .argument
      case .opener, .defaultApplication: .document
      }
    return ChosenApp(bundleIdentifier: chosen.bundleIdentifier, name: chosen.name, types: types.all, form: form)
  }

  private static func none(_ decision: RoutingDecision, _ offer: Offer) -> SegueError {
    if let best = decision.candidates.first, let obstacle = best.obstacles.first { return error(best, obstacle) }
    return SegueError(.notFound, "continue: no app here declares \(offer.description.type)")
  }

  private static func error(_ app: RoutingCandidate, _ obstacle: RoutingCandidate.Obstacle) -> SegueError {
    let reason: DiagnosticText =
      switch obstacle {
      case .isOrigin: "is the origin, and no other process of it is open"
      case .teamDiffers: "is of another team"
      case .typeNotDeclared: "does not declare the type"
      case .versionDeclined: "does not take this payload version"
      case .noManifest: "does not run, and no manifest says how it is started"
      case .noLaunchCommand(let error): "\(error.message)"
      case .site: "is not associated with the site of the page; `segue route` says why"
      }
    return SegueError(.notFound, "continue: \(app.name) \(reason)")
  }
}
