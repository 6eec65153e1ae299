// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// Answers the requests of control clients (docs/protocol.md, "The second socket of the agent"). No I/O. For one
/// thread.
public final class ControlRequests {
  /// Entries in one answer, and the bytes of those of any answer.
  private static let entryLimit = 64
  static let pageSize = 32 * 1024

  private let environment: any AgentEnvironment
  private let inbox: InboxService
  private let disk: any InboxExecutor
  private let routing: RoutingRequests
  private let searching: SearchRequests
  private let devices: DeviceRequests
  private let sites: SiteService
  private let unheard = FailureList()
  private var state = State.opening([])

  private enum State {
    /// It is not known yet what is stored: requests wait, in their order. `RequestQuota` bounds them.
    case opening([(request: Value, client: ControlClient, answer: Answer)])
    case open
  }

  public init(
    in environment: any AgentEnvironment, _ inbox: InboxService, _ disk: any InboxExecutor, _ index: any SearchIndex,
    _ devices: DeviceService, _ sites: SiteService
  ) {
    (self.environment, self.inbox, self.disk, self.sites) = (environment, inbox, disk, sites)
    self.devices = DeviceRequests(in: environment, devices)
    routing = RoutingRequests(inbox)
    searching = SearchRequests(index, inbox)
  }

  public typealias Answer = ControlClient.Answer

  /// Adds a failure of which no host was told (R3.13).
  public func add(_ failure: UnheardFailure) { unheard.add(failure) }

  /// Answers requests from now on, those that have waited first: the services say what is stored.
  public func open() {
    guard case .opening(let waiting) = state else { return }
    state = .open
    for each in waiting { handle(each.request, of: each.client, each.answer) }
  }

  /// - Parameters:
  ///   - request: a dictionary, with the name of the request under "ask".
  ///   - answer: called once, perhaps later; not after `abandon`.
  public func handle(_ request: Value, of client: ControlClient, _ answer: @escaping Answer) {
    if case .opening(var waiting) = state {
      waiting.append((request, client, answer))
      return state = .opening(waiting)
    }
    do throws(SegueError) {
      let name = try Self.text(request, "ask", atMost: Limits.identifier)
      try RequestOptions.check(request, of: name)
      switch true {
      case Text.isSame(name, "continue"): try `continue`(request, of: client, answer)
      case Text.isSame(name, "continue-without-text"):
        try `continue`(request, leavesText: true, of: client, answer)
      case Text.isSame(name, "push"):
        if request["device"] == nil {
          try `continue`(request, isPush: true, of: client, answer)
        } else {
          try push(request, of: client, answer)
        }
      case Text.isSame(name, "inbox"): try list(request, answer)
      case Text.isSame(name, "retained"): answer(.success(try retained()))
      case Text.isSame(name, "failures"): answer(.success(try failures()))
      case Text.isSame(name, "drop"): try remove(request, answer)
      case Text.isSame(name, "retry"): try retry(request, answer)
      case Text.isSame(name, "withdraw"): try withdraw(request, answer)
      case Text.isSame(name, "apps"): answer(.success(try routing.apps(request)))
      case Text.isSame(name, "route"): answer(.success(try routing.route(request)))
      case Text.isSame(name, "refresh"): answer(.success(try refresh(request)))
      case Text.isSame(name, "choose"): try routing.choose(request, answer)
      case Text.isSame(name, "search"): try searching.search(request, answer)
      case Text.isSame(name, "open"): try searching.open(request, of: client, answer)
      case Text.isSame(name, "forget"): try searching.forget(request, answer)
      default:
        guard try devices.handle(name, request, of: client, answer) else {
          throw SegueError(.unsupportedVersion, "request: the agent does not know '\(name)'")
        }
      }
    } catch {
      answer(.failure(error))
    }
  }

  /// The client has gone: cancels its requests.
  public func abandon(_ client: ControlClient) {
    if case .opening(var waiting) = state {
      waiting.removeAll { $0.client.number == client.number }
      return state = .opening(waiting)
    }
    inbox.abandon(client)
    devices.abandon(client)
  }

  // MARK: Sites

  /// Asks sites at once which apps they list.
  private func refresh(_ request: Value) throws(SegueError) -> Value {
    guard request["site"] != nil else { return try Self.count(try sites.refresh(nil)) }
    guard let host = HostName.read(try Self.text(request, "site", atMost: HostName.limit)) else {
      throw SegueError(.invalidArgument, "site: must be the name of a host")
    }
    let count = try sites.refresh(host.text)
    guard count > 0 else { throw SegueError(.notFound, "site: no manifest here claims \(host.text)") }
    return try Self.count(count)
  }

  private static func count(_ count: Int) throws(SegueError) -> Value {
    try .dictionary([(key: .string("count"), value: .integer(Int64(count)))])
  }

  // MARK: Continuing

  /// - Parameter isPush: the client is the origin, and gets the answer when the app is chosen (R3.15).
  private func `continue`(
    _ request: Value, isPush: Bool = false, leavesText: Bool = false, of client: ControlClient,
    _ answer: @escaping Answer
  ) throws(SegueError) {
    let activity = try Self.identifier(request, "activity")
    let app = request["app"] == nil ? nil : try Self.text(request, "app", atMost: Limits.identifier)
    let timeout = try Self.timeout(request)
    let environment = try Self.environment(request)
    let began: InboxService.Began? =
      isPush
      ? { id, app, isShared in
        answer(
          ControlClient.map(.success(id)) { id throws(SegueError) in try .dictionary(Self.entries(id, app, isShared)) })
      } : nil
    inbox.continue(
      activity, app: app, timeout: timeout, environment: environment, leavesText: leavesText, for: client, began: began
    ) { result in
      answer(ControlClient.map(result) { report throws(SegueError) in try Self.value(of: report) })
    }
  }

  /// Has another device continue an activity of this one (R3.15). The client gets the answer when that has begun there.
  private func push(_ request: Value, of client: ControlClient, _ answer: @escaping Answer) throws(SegueError) {
    let activity = try Self.identifier(request, "activity")
    let app = request["app"] == nil ? nil : try Self.text(request, "app", atMost: Limits.identifier)
    try devices.push(
      activity, to: try Self.identifier(request, "device"), app: app, timeout: try Self.timeout(request), for: client,
      answer)
  }

  private static func entries(
    _ continuation: Identifier, _ app: ChosenApp, _ isShared: Bool
  ) -> [(key: Value, value: Value)] {
    [
      (key: .string("continuation_id"), value: .uuid(continuation)),
      (key: .string("bundle_identifier"), value: .string(app.bundleIdentifier)),
      (key: .string("app_name"), value: .string(app.name)),
      (key: .string("shared"), value: .bool(isShared)),
    ]
  }

  /// Milliseconds; nil if it is not set.
  static func timeout(_ request: Value) throws(SegueError) -> Int64? {
    guard let value = request["timeout"] else { return nil }
    guard let milliseconds = value.int64, 1...Limits.longestAsk ~= milliseconds else {
      throw SegueError(.invalidArgument, "timeout_ms: 1 to \(Limits.longestAsk) is allowed")
    }
    return milliseconds
  }

  /// The variables that say where a program shows itself: others may not be set, and are refused by the launcher.
  static func environment(_ request: Value) throws(SegueError) -> [LaunchVariable] {
    guard let value = request["environment"] else { return [] }
    guard let entries = value.entries else {
      throw SegueError(.invalidArgument, "environment: must be a dictionary")
    }
    var variables: [LaunchVariable] = []
    for entry in entries {
      guard let name = entry.key.string, let value = entry.value.string else {
        throw SegueError(.invalidArgument, "environment: names and values must be strings")
      }
      guard LaunchVariable.names.contains(where: { Text.isSame($0, name) }) else {
        let shown = Text.start(of: name, atMost: Limits.identifier)
        throw SegueError(.invalidArgument, "environment: \(shown) may not be set")
      }
      variables.append(LaunchVariable(name: name, value: value))
    }
    return variables
  }

  static func value(of report: AgentContinuationReport) throws(SegueError) -> Value {
    let error = report.error
    var entries =
      entries(report.continuation, report.app, report.isShared) + [
        (key: .string("outcome"), value: .integer(Int64(report.outcome.rawValue))),
        (key: .string("status"), value: .integer(Int64(error?.status.rawValue ?? Status.ok.rawValue))),
        (key: .string("message"), value: .string(error?.message ?? "")),
        (key: .string("stale"), value: .bool(report.isStale)),
      ]
    if let reason = report.staleReason { entries.append((key: .string("stale_reason"), value: .string(reason))) }
    return try .dictionary(entries)
  }

  // MARK: The inbox

  private func list(_ request: Value, _ answer: @escaping Answer) throws(SegueError) {
    var after = Int64.min
    if let value = request["after"] {
      guard let number = value.int64 else {
        throw SegueError(.invalidArgument, "after: must be the number of an entry")
      }
      after = number
    }
    disk.list { [after, inbox, environment] result in
      answer(
        ControlClient.map(result) { entries throws(SegueError) in
          let now = environment.now.date
          let here = entries.filter { $0.number > after && $0.isHere(at: now) }
          return try Self.page("entries", of: here, atMost: Self.entryLimit) { entry throws(SegueError) in
            try Self.value(of: entry, isRunning: !inbox.running(entry.app).isEmpty)
          }
        })
    }
  }

  private static func value(of entry: InboxEntry, isRunning: Bool) throws(SegueError) -> Value {
    var entries: [(key: Value, value: Value)] = [
      (key: .string("number"), value: .integer(entry.number)),
      (key: .string("continuation_id"), value: .uuid(entry.continuation)),
      (key: .string("activity_id"), value: .uuid(entry.offer.description.id)),
      (key: .string("bundle_identifier"), value: .string(entry.app)),
      (key: .string("type"), value: .string(entry.offer.description.type)),
      (key: .string("app_name"), value: .string(entry.offer.appName)),
      (key: .string("device_name"), value: .string(entry.offer.deviceName)),
      (key: .string("size"), value: .integer(Int64(entry.payload.documentSize))),
      (key: .string("attachments"), value: .integer(Int64(entry.payload.attachments.count))),
      (key: .string("attachments_left"), value: .integer(Int64(entry.payload.attachments.count { !$0.isHere }))),
      (key: .string("delivered"), value: .bool(entry.state == .delivered)),
      (key: .string("attempts"), value: .integer(Int64(entry.attempts))),
      (key: .string("crashes"), value: .integer(Int64(entry.crashes))),
      (key: .string("held"), value: .bool(entry.isHeld)),
      (key: .string("running"), value: .bool(isRunning)),
      (key: .string("received"), value: try .date(entry.receivedAt)),
      (key: .string("expires"), value: try .date(entry.expiresAt)),
    ]
    if let title = entry.offer.description.title { entries.append((key: .string("title"), value: .string(title))) }
    return try .dictionary(entries)
  }

  /// The offers and pushes that this device retains for others (R14.5), and how they have ended. They are few enough
  /// for one page.
  private func retained() throws(SegueError) -> Value {
    try Self.page("retained", of: inbox.retainedOffers, atMost: Limits.allRetainedOffers) { record throws(SegueError) in
      var entries: [(key: Value, value: Value)] = [
        (key: .string("activity_id"), value: .uuid(record.activity)),
        (key: .string("type"), value: .string(record.description.type)),
        (key: .string("app_name"), value: .string(record.app.name)),
        (key: .string("size"), value: .integer(Int64(record.document.count))),
        (key: .string("attachments"), value: .integer(Int64(record.attachments.count))),
        (key: .string("attachment_bytes"), value: .integer(Int64(clamping: record.attachmentBytes))),
        (key: .string("received"), value: try .date(record.keptAt)),
      ]
      if let title = record.description.title { entries.append((key: .string("title"), value: .string(title))) }
      if let origin = record.retained {
        entries.append((key: .string("device"), value: .uuid(origin.device)))
        entries.append((key: .string("device_name"), value: .string(devices.name(of: origin.device))))
      }
      if let push = record.retained?.push {
        entries.append((key: .string("push"), value: .uuid(push.id)))
        entries.append((key: .string("target"), value: .uuid(push.target)))
        entries.append((key: .string("target_name"), value: .string(devices.name(of: push.target))))
      }
      if let receipt = record.receipt {
        entries.append((key: .string("ended"), value: try .date(receipt.date)))
        entries.append((key: .string("outcome"), value: .integer(Int64(receipt.outcome.rawValue))))
        entries.append((key: .string("reason"), value: .string(receipt.reason)))
        if receipt.outcome == .restored {
          entries.append((key: .string("continued"), value: try .date(receipt.date)))
          entries.append((key: .string("continued_by"), value: .string(receipt.receiver.appName)))
          entries.append((key: .string("continued_on"), value: .string(receipt.receiver.deviceName)))
        }
      }
      return try .dictionary(entries)
    }
  }

  /// The failures of apps of which no host was told (R3.13). They are few enough for one page.
  private func failures() throws(SegueError) -> Value {
    var list: [Value] = []
    for failure in unheard.failures {
      list.append(
        try .dictionary([
          (key: .string("bundle_identifier"), value: .string(failure.bundleIdentifier)),
          (key: .string("app_name"), value: .string(failure.appName)),
          (key: .string("type"), value: .string(failure.type)),
          (key: .string("status"), value: .integer(Int64(failure.error.status.rawValue))),
          (key: .string("message"), value: .string(failure.error.message)),
          (key: .string("date"), value: try .date(failure.date)),
        ]))
    }
    return try .dictionary([(key: .string("failures"), value: try .array(list))])
  }

  private func remove(_ request: Value, _ answer: @escaping Answer) throws(SegueError) {
    inbox.remove(try Self.identifier(request, "continuation_id")) { result in answer(Self.found(result)) }
  }

  private func retry(_ request: Value, _ answer: @escaping Answer) throws(SegueError) {
    let id = try Self.identifier(request, "continuation_id")
    disk.retry(id) { [inbox] result in
      answer(Self.found(result))
      inbox.retry(id)
    }
  }

  private func withdraw(_ request: Value, _ answer: @escaping Answer) throws(SegueError) {
    inbox.withdraw(try Self.identifier(request, "activity")) { error in
      answer(error.map { .failure($0) } ?? .success(.emptyDictionary))
    }
  }

  private static func found(_ result: Result<Bool, SegueError>) -> Result<Value, SegueError> {
    ControlClient.map(result) { isFound throws(SegueError) in
      guard isFound else { throw SegueError(.notFound, "continuation_id: no such entry is in the inbox") }
      return .emptyDictionary
    }
  }

  // MARK: Elements

  /// An answer with as many items as fit, at least one, and with `more`: whether there are others.
  static func page<Items: Collection>(
    _ name: StaticString, of items: Items, atMost limit: Int, _ value: (Items.Element) throws(SegueError) -> Value
  ) throws(SegueError) -> Value {
    var list: [Value] = []
    var size = 0
    for item in items.prefix(limit) {
      let value = try value(item)
      size += value.encoding.count
      guard size <= pageSize || list.isEmpty else { break }
      list.append(value)
    }
    return try .dictionary([
      (key: .string(String(joining: "\(name)")), value: .array(list)),
      (key: .string("more"), value: .bool(list.count < items.count)),
    ])
  }

  static func text(_ request: Value, _ key: String, atMost limit: Int) throws(SegueError) -> String {
    guard let text = request[key]?.string else { throw SegueError(.invalidArgument, "\(key): must be a string") }
    try Text.check(text, key, atMost: limit)
    return text
  }

  /// False if the key is absent.
  static func flag(_ request: Value, _ key: String) throws(SegueError) -> Bool {
    guard let value = request[key] else { return false }
    guard let flag = value.bool else { throw SegueError(.invalidArgument, "\(key): must be true or false") }
    return flag
  }

  static func identifier(_ request: Value, _ key: String) throws(SegueError) -> Identifier {
    guard let id = request[key]?.uuid else { throw SegueError(.invalidArgument, "\(key): must be a UUID") }
    return id
  }
}
