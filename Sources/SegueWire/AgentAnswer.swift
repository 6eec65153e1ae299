// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Checks what the agent answers to a question of the second socket (docs/protocol.md): any program of the user may
/// listen there, and callers rely on the dictionaries that segue.h describes. Keys that are not known are passed on.
public struct AgentAnswer {
  private let value: Value
  private let question: String

  /// Throws MALFORMED if the answer is not what the question asks for.
  public static func check(_ value: Value, to question: String) throws(SegueError) {
    let answer = AgentAnswer(value: value, question: question)
    guard value.kind == .dictionary else { throw answer.malformed("is \(value.kind.name), and no dictionary") }
    switch true {
    case Text.isSame(question, "push"): try answer.hasChosenApp()
    case Text.isSame(question, "continue"), Text.isSame(question, "open"): try answer.hasReport()
    case Text.isSame(question, "inbox"):
      try answer.each("entries") { (entry) throws(SegueError) in try entry.isEntry() }
    case Text.isSame(question, "apps"): try answer.each("apps") { (app) throws(SegueError) in try app.isApp() }
    case Text.isSame(question, "search"):
      try answer.each("results") { (result) throws(SegueError) in try result.isSearchResult() }
    case Text.isSame(question, "route"):
      try answer.each("candidates") { (candidate) throws(SegueError) in try candidate.isCandidate() }
      // An older agent says nothing of the web.
      if value["web"] != nil {
        try answer.each("web") { (reason) throws(SegueError) in try reason.isReason() }
      }
    case Text.isSame(question, "forget"), Text.isSame(question, "refresh"): try answer.has(.integer, "count")
    case Text.isSame(question, "failures"):
      try answer.each("failures", atMost: UnheardFailure.limit) { (failure) throws(SegueError) in
        try failure.isFailure()
      }
    case Text.isSame(question, "retained"):
      try answer.each("retained", atMost: Limits.allRetainedOffers) { (offer) throws(SegueError) in
        try offer.isRetained()
      }
    case Text.isSame(question, "account"): try answer.isAccount()
    case Text.isSame(question, "invite"):
      try answer.has(.string, "link")
      try answer.has(.date, "expires")
    case Text.isSame(question, "read-invite"):
      try answer.has(.uuid, "account")
      try answer.has(.string, "account_name")
      try answer.hasStrings("addresses")
    case Text.isSame(question, "join"): try answer.isJoin()
    case Text.isSame(question, "recovery-file"): try answer.has(.data, "file")
    case Text.isSame(question, "leave-account"): try answer.mayHave(.string, "aside")
    case Text.isSame(question, "pushes"):
      try answer.has(.integer, "change")
      try answer.each("pushes") { (push) throws(SegueError) in try push.isPush() }
    default: break
    }
  }

  private func isRetained() throws(SegueError) {
    try has(.uuid, "activity_id")
    try has(.string, "type")
    try has(.string, "app_name")
    try has(.integer, "size")
    try has(.integer, "attachments")
    try has(.integer, "attachment_bytes")
    try has(.date, "received")
    try mayHave(.uuid, "device")
    try mayHave(.string, "device_name")
    try mayHave(.string, "title")
    try mayHave(.date, "continued")
    try mayHave(.string, "continued_by")
    try mayHave(.string, "continued_on")
  }

  // MARK: Apps

  private func hasChosenApp() throws(SegueError) {
    try has(.uuid, "continuation_id")
    try has(.string, "bundle_identifier")
    try has(.string, "app_name")
    // An older agent does not say it.
    try mayHave(.bool, "shared")
  }

  private func hasReport() throws(SegueError) {
    try hasChosenApp()
    try has(.string, "message")
    // An older agent says neither.
    try mayHave(.bool, "stale")
    try mayHave(.string, "stale_reason")
    try hasStatus()
    guard let outcome = value["outcome"]?.int64, let number = Int32(exactly: outcome), Outcome(rawValue: number) != nil
    else { throw malformed("'outcome' is no outcome") }
  }

  private func hasStatus() throws(SegueError) {
    guard let status = value["status"]?.int64, Int32(exactly: status) != nil else {
      throw malformed("'status' is no status")
    }
  }

  private func isEntry() throws(SegueError) {
    try hasChosenApp()
    for key: StaticString in ["number", "size", "attachments", "attachments_left", "attempts", "crashes"] {
      try has(.integer, key)
    }
    try has(.uuid, "activity_id")
    try has(.string, "type")
    try has(.string, "device_name")
    try has(.bool, "delivered")
    try has(.bool, "held")
    try has(.date, "received")
    try has(.date, "expires")
    try mayHave(.string, "title")
  }

  private func isApp() throws(SegueError) {
    try has(.string, "path")
    for key: StaticString in ["error", "version", "no_launch", "shadowed_by"] { try mayHave(.string, key) }
    for key: StaticString in ["types", "warnings"] { try mayHaveStrings(key) }
    guard value["error"] == nil else { return }
    for key: StaticString in ["bundle_identifier", "name", "team"] { try has(.string, key) }
    try has(.array, "types")
    try has(.integer, "type_count")
    try has(.bool, "running")
  }

  private func isSearchResult() throws(SegueError) {
    for key: StaticString in ["bundle_identifier", "app_name", "type"] { try has(.string, key) }
    for key: StaticString in ["title", "persistent_identifier", "webpage_url"] { try mayHave(.string, key) }
    try has(.uuid, "activity_id")
    try has(.date, "saved")
    try has(.date, "expires")
    try has(.integer, "number")
  }

  private func isFailure() throws(SegueError) {
    for key: StaticString in ["bundle_identifier", "app_name", "type", "message"] { try has(.string, key) }
    try hasStatus()
    try has(.date, "date")
  }

  private func isCandidate() throws(SegueError) {
    for key: StaticString in ["bundle_identifier", "name", "preference"] { try has(.string, key) }
    try has(.bool, "running")
    try has(.bool, "manifest")
    try mayHave(.string, "role")
    try each("against") { (obstacle) throws(SegueError) in try obstacle.isReason() }
  }

  private func isReason() throws(SegueError) {
    try has(.string, "reason")
    try has(.string, "message")
  }

  // MARK: Devices

  private func isAccount() throws(SegueError) {
    try has(.integer, "change")
    let status = value["status"]?.string
    guard Text.isSame(status, "none") || Text.isSame(status, "member") || Text.isSame(status, "unusable") else {
      throw malformed("'status' is neither none, member nor unusable")
    }
    try mayHave(.string, "message")
    try has(.dictionary, "settings")
    if let settings = value["settings"] { try AgentAnswer(value: settings, question: question).areSettings() }
    try each("joins") { (join) throws(SegueError) in
      try join.isJoin()
      try join.has(.bool, "asks")
    }
    try each("notices", atMost: Limits.notices) { (notice) throws(SegueError) in
      try notice.has(.date, "date")
      try notice.hasStatus()
      try notice.has(.string, "message")
    }
    // Without them what is stored cannot be used, or there is no account.
    guard value["account"] != nil || Text.isSame(status, "member") else { return }
    try has(.uuid, "account")
    try has(.string, "account_name")
    try has(.uuid, "device")
    try has(.bool, "manager")
    try has(.integer, "port")
    try has(.integer, "invites")
    try each("devices") { (device) throws(SegueError) in try device.isDevice() }
    // Agents before these lists say nothing of them.
    if value["takeovers"] != nil {
      try each("takeovers", atMost: Limits.takeOvers) { (device) throws(SegueError) in try device.isTakeOver() }
    }
    if value["refused"] != nil {
      try each("refused", atMost: Limits.refusedDevices) { (device) throws(SegueError) in
        try device.isUnlisted()
        try device.mayHave(.string, "name")
      }
    }
  }

  /// A setting that is not named stays as it is, so none is required.
  private func areSettings() throws(SegueError) {
    try mayHave(.integer, "port")
    try mayHave(.string, "push")
    for key: StaticString in ["discovery", "private", "relay"] { try mayHave(.bool, key) }
    for key: StaticString in ["addresses", "private_types", "private_apps"] { try mayHaveStrings(key) }
  }

  private func isDevice() throws(SegueError) {
    try has(.uuid, "device")
    try has(.string, "name")
    try has(.string, "platform")
    for key: StaticString in ["this_device", "manager", "confirmed", "linked"] { try has(.bool, key) }
    try has(.date, "joined")
    try has(.date, "certificate_ends")
    try mayHave(.date, "last_seen")
    try mayHave(.string, "fingerprint")
    try mayHave(.string, "address")
    for key: StaticString in ["retains", "retained_here", "retained_bytes"] { try mayHave(.integer, key) }
    try mayHave(.string, "retains_problem")
    try mayHave(.bool, "outdated")
  }

  /// A device that is not in the list.
  private func isUnlisted() throws(SegueError) {
    try has(.uuid, "device")
    try has(.string, "fingerprint")
    try has(.date, "date")
  }

  private func isTakeOver() throws(SegueError) {
    try isUnlisted()
    try has(.string, "name")
    try has(.integer, "term")
    // Callers in C pass it on as so many bytes.
    guard let digest = value["digest"]?.data, digest.count == Limits.digest else {
      throw malformed("'digest' is not \(Limits.digest) bytes")
    }
  }

  private func isJoin() throws(SegueError) {
    try has(.integer, "join")
    for key: StaticString in ["digits", "account_name", "device_name", "platform"] { try has(.string, key) }
    for key: StaticString in ["clock_here", "clock_there"] { try mayHave(.date, key) }
  }

  private func isPush() throws(SegueError) {
    for key: StaticString in ["push", "device", "activity_id"] { try has(.uuid, key) }
    for key: StaticString in ["device_name", "type", "app_name", "bundle_identifier", "receiver_name"] {
      try has(.string, key)
    }
    try mayHave(.string, "title")
    try has(.date, "received")
    try has(.date, "expires")
  }

  // MARK: Elements

  /// Integers are those of `int64_t`, as callers in C read them.
  private func has(_ kind: Kind, _ key: StaticString) throws(SegueError) {
    guard let entry = value[String(joining: "\(key)")], entry.kind == kind, kind != .integer || entry.int64 != nil
    else { throw malformed("'\(key)' is not \(kind.name)") }
  }

  private func mayHave(_ kind: Kind, _ key: StaticString) throws(SegueError) {
    if value[String(joining: "\(key)")] != nil { try has(kind, key) }
  }

  private func elements(_ key: StaticString) throws(SegueError) -> [Value] {
    try has(.array, key)
    return value[String(joining: "\(key)")]?.elements ?? []
  }

  private func hasStrings(_ key: StaticString) throws(SegueError) {
    for element in try elements(key) where element.kind != .string {
      throw malformed("an element of '\(key)' is not a string")
    }
  }

  private func mayHaveStrings(_ key: StaticString) throws(SegueError) {
    if value[String(joining: "\(key)")] != nil { try hasStrings(key) }
  }

  private func each(
    _ key: StaticString, atMost limit: Int = .max, _ check: (AgentAnswer) throws(SegueError) -> Void
  ) throws(SegueError) {
    let elements = try elements(key)
    guard elements.count <= limit else { throw malformed("'\(key)' has more than \(limit) elements") }
    for element in elements {
      guard element.kind == .dictionary else { throw malformed("an element of '\(key)' is no dictionary") }
      try check(AgentAnswer(value: element, question: question))
    }
  }

  private func malformed(_ problem: DiagnosticText) -> SegueError {
    SegueError(.malformed, "the agent's answer to '\(question)': \(problem)")
  }
}
