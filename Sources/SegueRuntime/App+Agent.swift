// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport
import SegueWire

/// The requests of an app to the agent of its user. Each call waits on its thread.
extension App {
  /// Continues an offer in an app that need not run (R3.8).
  /// - Parameters:
  ///   - bundle: the bundle identifier of that app; nil: whichever fits (R6.2).
  ///   - timeout: milliseconds; nil for the limit.
  /// - Returns: a dictionary, as `segue_app_launch` describes it.
  public func launch(_ offer: Offer, in bundle: String?, timeout: Int64?) throws(SegueError) -> Value {
    let timeout = timeout ?? AgentClient.usualTimeout
    return try ask(
      "continue", offer.description.id, in: bundle, timeout: timeout, waiting: timeout + AgentClient.answerTime)
  }

  /// Has the current activity of this app continued by another one (R3.15). Throws INVALID_STATE, NOT_ALLOWED, and what
  /// the agent answers.
  /// - Parameters:
  ///   - bundle: the bundle identifier of that app; nil: whichever fits (R6.2).
  ///   - device: of the account; nil: this one.
  ///   - timeout: milliseconds, for the launch here, for the answer there; nil for the default.
  /// - Returns: once the app is chosen, a dictionary, as `segue_activity_push` describes it.
  public func push(
    _ activity: LiveActivity, to bundle: String?, on device: Identifier?, timeout: Int64?
  ) throws(SegueError) -> Value {
    try requireCurrent(activity)
    guard let device else {
      return try ask("push", activity.id, in: bundle, timeout: timeout ?? AgentClient.usualTimeout)
    }
    // The agent may not know yet that it is.
    if activity.read({ $0.isPrivate }) { throw PushAdmission.isPrivate }
    let timeout = timeout ?? Limits.pushAnswer
    return try ask(
      "push", activity.id, in: bundle, on: device, timeout: timeout, waiting: timeout + AgentClient.answerTime)
  }

  private func requireCurrent(_ activity: LiveActivity) throws(SegueError) {
    var isCurrent = false
    try perform { engine, _ in isCurrent = engine.currentActivity == activity.id }
    guard isCurrent else { throw SegueError(.invalidState, "activity: is not the current one of its app") }
  }

  private func ask(
    _ what: StaticString, _ activity: Identifier, in bundle: String?, on device: Identifier? = nil, timeout: Int64,
    waiting: Int64 = AgentClient.answerTime
  ) throws(SegueError) -> Value {
    var entries: [(key: Value, value: Value)] = [
      (key: .string("activity"), value: .uuid(activity)),
      (key: .string("timeout"), value: .integer(timeout)),
      (key: .string("environment"), value: try AgentClient.environment()),
    ]
    if let bundle { entries.append((key: .string("app"), value: .string(bundle))) }
    if let device { entries.append((key: .string("device"), value: .uuid(device))) }
    return try askAgent(String(joining: "\(what)"), entries, timeout: waiting)
  }

  /// The app that would continue an activity of this app, and the reasons against the others: a dictionary, as
  /// `segue_activity_get_route` describes it.
  public func route(_ activity: LiveActivity) throws(SegueError) -> Value {
    let state = activity.read { $0 }
    var requester: AppIdentity?
    try perform { engine, _ in requester = engine.identity }
    guard let identity = requester else { throw SegueError(.invalidState, "app: is not open") }
    var entries: [(key: Value, value: Value)] = [
      (key: .string("type"), value: .string(state.type)),
      (key: .string("team"), value: .string(identity.team)),
      (key: .string("bundle_identifier"), value: .string(identity.bundleIdentifier)),
      (key: .string("payload_version"), value: .integer(Int64(state.payloadVersion))),
      (key: .string("origin"), value: .uuid(identity.id)),
    ]
    if state.isPublic { entries.append((key: .string("public"), value: .bool(true))) }
    if let contentType = state.offeredContentType {
      entries.append((key: .string("content_type"), value: .string(contentType)))
    }
    if let page = state.webOrigin { entries.append((key: .string("web_origin"), value: .string(page.text))) }
    return try askAgent("route", entries)
  }

  // MARK: Requests by name

  /// Asks what sections 14 and 15 of segue.h list.
  /// - Parameters:
  ///   - name: of the request.
  ///   - options: its other keys.
  ///   - timeout: milliseconds for what the user or another device has to do; nil for the default of the request.
  /// - Returns: a dictionary. A list is complete, however many answers it takes.
  public func ask(
    _ name: String, _ options: [(key: Value, value: Value)], timeout: Int64?
  ) throws(SegueError) -> Value {
    guard !name.isEmpty else { throw SegueError(.invalidArgument, "request: is empty") }
    if let timeout, timeout > Limits.longestAsk {
      throw SegueError(.invalidArgument, "timeout_ms: \(timeout), at most \(Limits.longestAsk) is allowed")
    }
    for option in options {
      for taken in ["ask", "timeout"] where Text.isSame(option.key.string, taken) {
        throw SegueError(.invalidArgument, "options: '\(taken)' is none; it is a parameter of the call")
      }
    }
    let request = AgentRequest(name, options)
    try request.check()
    if let list = try request.list() {
      guard timeout == nil else {
        throw SegueError(.invalidArgument, "timeout_ms: must be 0: '\(name)' does not wait for others")
      }
      return try ask(request, list)
    }
    var entries = options
    if request.launches, request.option("environment") == nil {
      entries.append((key: .string("environment"), value: try AgentClient.environment()))
    }
    let usual: Int64? = request.waits ? AgentClient.usualTimeout : nil
    guard let timeout = timeout ?? usual else { return try askAgent(name, entries) }
    entries.append((key: .string("timeout"), value: .integer(timeout)))
    return try askAgent(name, entries, timeout: timeout + AgentClient.answerTime)
  }

  /// Asks for all pages of a list, within the time of one answer.
  private func ask(_ request: AgentRequest, _ list: AnswerPages) throws(SegueError) -> Value {
    var pages = list
    let deadline = environment.now.uptime + AgentClient.answerTime
    var timeout = AgentClient.answerTime
    while true {
      var entries = request.entries(missing: pages.missing)
      if let after = pages.after { entries.append((key: .string("after"), value: after)) }
      guard try pages.add(try askAgent(request.name, entries, timeout: timeout)) else { return try pages.value() }
      timeout = deadline - environment.now.uptime
    }
  }

  /// - Parameter timeout: milliseconds for the answer.
  /// Throws MALFORMED if the answer has not got what callers rely on.
  func askAgent(
    _ name: String, _ entries: [(key: Value, value: Value)], timeout: Int64 = AgentClient.answerTime
  ) throws(SegueError) -> Value {
    if let error = refusal { throw error }
    let request = try Value.dictionary([(key: Value.string("ask"), value: Value.string(name))] + entries)
    do throws(SegueError) {
      let answer = try environment.askAgent(request, timeout: timeout)
      try AgentAnswer.check(answer, to: name)
      return answer
    } catch {
      throw refusal == nil ? error : SegueError(.cancelled, "agent: the app was closed before it answered")
    }
  }

  /// The error of a call if the app is not open.
  private var refusal: SegueError? {
    monitor.lock()
    defer { monitor.unlock() }
    return isOpen ? nil : notOpen
  }
}
