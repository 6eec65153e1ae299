// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The options of the requests of control clients (docs/protocol.md). One that a request does not have is refused:
/// misspelled it would count as absent, and "forget" would delete what all apps have saved.
enum RequestOptions {
  private static let of: [(request: StaticString, options: [StaticString])] = [
    ("continue", ["activity", "app", "timeout", "environment"]),
    ("continue-without-text", ["activity", "app", "timeout", "environment"]),
    ("push", ["activity", "app", "device", "timeout", "environment"]),
    ("inbox", ["after"]),
    ("retained", []),
    ("failures", []),
    ("drop", ["continuation_id"]),
    ("retry", ["continuation_id"]),
    ("withdraw", ["activity"]),
    ("apps", ["after"]),
    (
      "route",
      [
        "activity", "type", "team", "bundle_identifier", "payload_version", "origin", "web_origin", "public",
        "content_type",
      ]
    ),
    ("refresh", ["site"]),
    ("choose", ["type", "app"]),
    ("search", ["query", "bundle_identifier", "limit", "after"]),
    // With all that a result of a search has.
    (
      "open",
      [
        "bundle_identifier", "activity_id", "persistent_identifier", "timeout", "environment", "app_name", "type",
        "title", "webpage_url", "saved", "expires", "number",
      ]
    ),
    ("forget", ["bundle_identifier", "all"]),
    ("account", ["after", "timeout"]),
    ("create-account", ["name", "device_name"]),
    ("invite", ["addresses", "automatic"]),
    ("cancel-invites", ["link", "all"]),
    ("read-invite", ["link"]),
    ("join", ["link", "device_name", "timeout"]),
    ("await-join", ["join", "timeout"]),
    ("answer-join", ["join", "admits"]),
    ("rename-device", ["device", "name"]),
    ("revoke-device", ["device"]),
    ("add-address", ["device", "address"]),
    ("remove-address", ["device", "address"]),
    ("avoid-path", ["device", "path"]),
    ("use-path", ["device", "path"]),
    ("read-paths", []),
    ("accept-roster", ["device", "digest"]),
    ("leave-account", ["abandons"]),
    ("recovery-file", ["passphrase"]),
    ("recover-account", ["file", "passphrase"]),
    ("pushes", ["after", "timeout"]),
    ("answer-push", ["push", "accepts", "environment"]),
  ]

  /// Throws INVALID_ARGUMENT unless a request that deletes names one thing, or says that it means all: options that a
  /// program has failed to make must not.
  static func requireOne(_ request: Value, _ key: String) throws(SegueError) {
    let isAll = request["all"]?.bool ?? false
    guard request["all"] == nil || isAll, isAll != (request[key] != nil) else {
      throw SegueError(.invalidArgument, "\(key): one is needed, or 'all' that is true, and not both")
    }
  }

  /// Throws INVALID_ARGUMENT for an option that the request does not have. The settings of "set-devices" check
  /// themselves.
  static func check(_ request: Value, of name: String) throws(SegueError) {
    guard let known = of.first(where: { Text.isSame(String(joining: "\($0.request)"), name) })?.options else { return }
    for entry in request.entries ?? [] {
      guard let key = entry.key.string else { throw SegueError(.invalidArgument, "options: keys must be strings") }
      guard !Text.isSame(key, "timeout") || known.contains(where: { Text.isSame(String(joining: "\($0)"), key) }) else {
        throw SegueError(.invalidArgument, "timeout_ms: must be 0: '\(name)' does not wait for others")
      }
      guard Text.isSame(key, "ask") || known.contains(where: { Text.isSame(String(joining: "\($0)"), key) }) else {
        let shown = Text.start(of: key, atMost: Limits.identifier)
        throw SegueError(.invalidArgument, "options: there is no '\(shown)' of '\(name)'")
      }
    }
  }
}
