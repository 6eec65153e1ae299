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

  /// Has the current activity of this app continued by another one of this device (R3.15). The parameters are those of
  /// `launch`.
  /// - Returns: once the app is chosen, a dictionary, as `segue_activity_push` describes it.
  public func push(_ activity: LiveActivity, to bundle: String?, timeout: Int64?) throws(SegueError) -> Value {
    try requireCurrent(activity)
    return try ask("push", activity.id, in: bundle, timeout: timeout ?? AgentClient.usualTimeout)
  }

  /// The same by an app of another device of the account; then the timeout is that of its answer.
  public func push(
    _ activity: LiveActivity, to bundle: String?, on device: Identifier, timeout: Int64?
  ) throws(SegueError) -> Value {
    try requireCurrent(activity)
    // The agent may not know yet that it is.
    if activity.read({ $0.isPrivate }) { throw PushGate.isPrivate }
    let timeout = timeout ?? Limits.pushAnswer
    return try ask(
      "push", activity.id, in: bundle, on: device, timeout: timeout, waiting: timeout + AgentClient.answerTime)
  }

  private func requireCurrent(_ activity: LiveActivity) throws(SegueError) {
    var isCurrent = false
    try perform { engine, _ in isCurrent = engine.currentActivity == activity.id }
    guard isCurrent else { throw SegueError(.invalidState, "activity: is not the current one of its app") }
  }

  /// The variables of this process that a program gets which the agent launches for it.
  public static func launchEnvironment() throws(SegueError) -> Value { try AgentClient.environment() }

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
    return try askAgent(what, entries, timeout: waiting)
  }

  /// The entries that wait for apps: an array of dictionaries, the oldest first.
  public func inbox() throws(SegueError) -> Value {
    try list("inbox", AnswerPages("entries", .rising, atMost: Limits.inboxEntries))
  }

  /// The last failures of which no host was told: an array of dictionaries, as `segue_app_get_failures` describes it.
  public func unheardFailures() throws(SegueError) -> Value {
    guard let failures = try askAgent("failures", [])["failures"] else { return try .array([]) }
    return failures
  }

  /// The manifests of apps: an array of dictionaries, as `segue_app_get_apps` describes it.
  public func knownApps() throws(SegueError) -> Value {
    try list("apps", AnswerPages("apps", .counted, atMost: Limits.manifestFiles))
  }

  /// Asks for all pages of a list, within the time of one answer.
  /// - Parameter entries: what each question says besides; its parameter: how many items are missing.
  func list(
    _ what: StaticString, _ pages: AnswerPages, _ entries: (Int) -> [(key: Value, value: Value)] = { _ in [] }
  ) throws(SegueError) -> Value {
    var pages = pages
    let deadline = environment.now.uptime + AgentClient.answerTime
    var timeout = AgentClient.answerTime
    while true {
      var question = entries(pages.missing)
      if let after = pages.after { question.append((key: .string("after"), value: after)) }
      guard try pages.add(try askAgent(what, question, timeout: timeout)) else { return try .array(pages.items) }
      timeout = deadline - environment.now.uptime
    }
  }

  /// The app that would continue an offer, and the reasons against the others: an array of dictionaries, as
  /// `segue_app_get_route` describes it.
  public func route(_ offer: Offer) throws(SegueError) -> Value {
    try route([(key: .string("activity"), value: .uuid(offer.description.id))])
  }

  /// The same for an activity of this app.
  public func route(_ activity: LiveActivity) throws(SegueError) -> Value {
    let state = activity.read { $0 }
    var asker: AppIdentity?
    try perform { engine, _ in asker = engine.identity }
    guard let identity = asker else { throw SegueError(.invalidState, "app: is not open") }
    return try route([
      (key: .string("type"), value: .string(state.type)),
      (key: .string("team"), value: .string(identity.team)),
      (key: .string("bundle_identifier"), value: .string(identity.bundleIdentifier)),
      (key: .string("payload_version"), value: .integer(Int64(state.payloadVersion))),
      (key: .string("origin"), value: .uuid(identity.id)),
    ])
  }

  private func route(_ question: [(key: Value, value: Value)]) throws(SegueError) -> Value {
    guard let candidates = try askAgent("route", question)["candidates"] else { return try .array([]) }
    return candidates
  }

  /// Remembers the app that the user wants for a type; nil forgets it.
  public func choose(_ bundle: String?, for type: String) throws(SegueError) {
    var entries: [(key: Value, value: Value)] = [(key: .string("type"), value: .string(type))]
    if let bundle { entries.append((key: .string("app"), value: .string(bundle))) }
    _ = try askAgent("choose", entries)
  }

  /// Forgets an entry. Throws NOT_FOUND.
  public func dropEntry(_ continuation: Identifier) throws(SegueError) { try change("drop", continuation) }

  /// Lets the app of an entry get it again. Throws NOT_FOUND.
  public func retryEntry(_ continuation: Identifier) throws(SegueError) { try change("retry", continuation) }

  /// Ends an offer that the agent keeps (R2.5). Throws NOT_FOUND.
  public func withdraw(_ offer: Offer) throws(SegueError) {
    _ = try askAgent("withdraw", [(key: .string("activity"), value: .uuid(offer.description.id))])
  }

  private func change(_ what: StaticString, _ continuation: Identifier) throws(SegueError) {
    _ = try askAgent(what, [(key: .string("continuation_id"), value: .uuid(continuation))])
  }

  /// - Parameter timeout: milliseconds for the answer.
  /// Throws MALFORMED if the answer has not got what callers rely on.
  func askAgent(
    _ what: StaticString, _ entries: [(key: Value, value: Value)], timeout: Int64 = AgentClient.answerTime
  ) throws(SegueError) -> Value {
    if let error = refusal { throw error }
    let name = String(joining: "\(what)")
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
