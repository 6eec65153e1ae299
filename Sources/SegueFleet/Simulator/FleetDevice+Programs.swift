// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel

/// The installed apps of a device, and the programs that its agent starts.
extension FleetDevice {
  /// The programs that are installed: its apps, and what the owner of the device adds.
  public var installed: InstalledApps {
    get { programs.installed }
    set {
      programs.installed = newValue
      fleetAgent?.manifestsChanged()
    }
  }

  /// The pages with which browsers were started, in their order.
  public var pages: [(url: String, browser: String)] { programs.pages }
  /// The documents with which openers were started, in their order.
  public var documents: [(document: OpenedDocument, opener: String)] { programs.documents }

  /// Installs an app, in place of the one with its identifier. An agent of this device knows its manifest, and starts
  /// it.
  /// - Parameter start: called when an agent starts it, to open the app.
  public func install(_ declaration: AppDeclaration, _ start: @escaping () -> Void) {
    programs.install(declaration, start)
    fleetAgent?.manifestsChanged()
  }

  /// Uninstalls an app. Throws NOT_FOUND.
  public func uninstall(_ bundleIdentifier: String) throws(SegueError) {
    guard programs.start(of: bundleIdentifier) != nil else {
      throw SegueError(.notFound, "bundle_identifier: \(bundleIdentifier) is not installed on \(name)")
    }
    programs.uninstall(bundleIdentifier)
    fleetAgent?.manifestsChanged()
  }

  /// Starts an app that is installed.
  func launch(_ app: String, _ done: @escaping (SegueError?) -> Void) {
    let start = programs.start(of: app)
    fleet.trace(name, "launches", app)
    later(drawStartTime()) {
      done(start == nil ? Self.isMissing(app) : nil)
      start?()
    }
  }

  /// Starts a browser with a page.
  func open(_ page: String, in browser: String, _ done: @escaping (SegueError?) -> Void) {
    fleet.trace(name, "opens", page)
    later(drawStartTime()) { [self] in
      guard installed.browsers[browser] != nil else { return done(Self.isMissing(browser)) }
      programs.pages.append((page, browser))
      done(nil)
    }
  }

  /// Starts the program of an opener with a document.
  func open(_ document: OpenedDocument, with opener: String, _ done: @escaping (SegueError?) -> Void) {
    fleet.trace(name, "opens", document.text("url") ?? "")
    later(drawStartTime()) { [self] in
      guard installed.openers[opener] != nil else { return done(Self.isMissing(opener)) }
      programs.documents.append((document, opener))
      done(nil)
    }
  }

  /// Draws the milliseconds until the system has started a program.
  private func drawStartTime() -> Int64 { fleet.random.within(1, 200) }

  private static func isMissing(_ program: String) -> SegueError {
    SegueError(.notFound, "launch of \(program): it is not installed on this device")
  }
}
