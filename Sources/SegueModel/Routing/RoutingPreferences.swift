// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The preferences of the user: the app that was chosen for a type, and how recently each app was used (R6.2). The
/// store has them on the disk.
public struct RoutingPreferences: Sendable {
  private var choices: [TextKey: String] = [:]
  private var uses: [TextKey: UInt64] = [:]
  private var useCount: UInt64 = 0
  /// The most apps of which it is known; then the half that was used last.
  private static let limit = 20_000

  /// - Parameters:
  ///   - choices: by type, the bundle identifier that the user chose.
  ///   - uses: bundle identifiers, the most recently used first.
  public init(choices: [(type: String, app: String)] = [], uses: [String] = []) {
    for choice in choices { choose(choice.app, for: choice.type) }
    for app in uses.reversed() { markUsed(app) }
  }

  /// The bundle identifier of the app that the user chose for a type; nil if none.
  public func choice(for type: String) -> String? { choices[TextKey(type)] }

  /// - Parameter app: a bundle identifier; nil forgets the choice.
  public mutating func choose(_ app: String?, for type: String) { choices[TextKey(type)] = app }

  public mutating func markUsed(_ app: String) {
    useCount += 1
    uses[TextKey(app)] = useCount
    guard uses.count > Self.limit else { return }
    let least = useCount - UInt64(Self.limit / 2)
    uses = uses.filter { $0.value > least }
  }

  /// Higher if the app was used more recently; 0: never.
  func recency(of app: String) -> UInt64 { uses[TextKey(app)] ?? 0 }
}
