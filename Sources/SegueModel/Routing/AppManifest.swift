// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The part of an app's manifest that holds while the app runs (R6.1). An object, since it is handed on often.
public final class AppManifest: Sendable {
  /// A kind of document that gets activities of a type by itself (R5.1).
  public struct Document: Sendable {
    /// Raw values are those of `segue_role`.
    public enum Role: UInt64, Sendable {
      case editor = 1
      case viewer = 2
    }

    public let role: Role
    public let contentType: String
    public let activityType: String

    public init(role: Role, contentType: String, activityType: String) {
      self.role = role
      self.contentType = contentType
      self.activityType = activityType
    }
  }

  /// Nil: it names none.
  public let name: String?
  public let team: String?
  /// `NSUserActivityTypes`, each once, in their order.
  public let types: [String]
  public let documents: [Document]

  public init(name: String?, team: String?, types: [String], documents: [Document]) {
    self.name = name
    self.team = team
    self.types = types
    self.documents = documents
  }
}

extension AppIdentity {
  /// The same app with what its manifest says. Name and team of the manifest hold, and its types are added. Hub and app
  /// come to the same result.
  public func adding(_ manifest: AppManifest) -> AppIdentity {
    var types = DeclaredTypes(types)
    types.add(manifest)
    return AppIdentity(
      secret: secret, bundleIdentifier: bundleIdentifier, name: manifest.name ?? name, team: manifest.team ?? team,
      types: types.all, isChooser: isChooser, isSandboxed: isSandboxed)
  }
}

/// The activity types that an app declares, each once, as many as fit into one message.
public struct DeclaredTypes: Sendable {
  public private(set) var all: [String]
  private var size: Int

  public init(_ types: [String] = []) {
    all = types
    size = types.reduce(0) { $0 + Text.size($1) }
  }

  /// Each once, in their order.
  public static func unique(_ types: [String]) -> [String] {
    var all: [String] = []
    for type in types where !all.contains(where: { Text.isSame($0, type) }) { all.append(type) }
    return all
  }

  /// - Returns: false if the type does not fit.
  @discardableResult
  public mutating func add(_ type: String) -> Bool {
    if all.contains(where: { Text.isSame($0, type) }) { return true }
    guard all.count < Limits.typesPerApp, Text.size(type) <= Limits.typesBytes - size else { return false }
    size += Text.size(type)
    all.append(type)
    return true
  }

  /// - Returns: the number of types that do not fit.
  @discardableResult
  public mutating func add(_ manifest: AppManifest) -> Int {
    var left = 0
    for type in manifest.types where !add(type) { left += 1 }
    for document in manifest.documents where !add(document.activityType) { left += 1 }
    return left
  }
}
