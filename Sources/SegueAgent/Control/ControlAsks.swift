import SegueApp
import SegueDevices
import SegueEngine
import SegueInbox
import SegueModel
import SegueRuntime
import SegueStore
import SegueSystem
import SegueTransport

/// Answers requests at the second socket (docs/protocol.md, "The second socket of the agent"). For the loop.
final class ControlAsks {
  /// Entries in one answer, and the bytes of those of any answer.
  private static let entryLimit = 64
  static let pageSize = 32 * 1024

  private let inbox: InboxService
  private let disk: InboxDisk
  private let routing: RoutingAsks
  private let searching: SearchAsks
  private let devices: DeviceAsks
  private let unheard = FailureList()

  init(
    _ inbox: InboxService, _ disk: InboxDisk, _ saved: SavedService, _ devices: DeviceService, _ device: Device
  ) {
    (self.inbox, self.disk) = (inbox, disk)
    device.setUnheardFailureHandler { [unheard] failure in unheard.add(failure) }
    self.devices = DeviceAsks(devices)
    routing = RoutingAsks(inbox)
    searching = SearchAsks(saved, inbox)
  }

  typealias Answer = Asker.Answer

  /// - Parameter answer: called once, perhaps later.
  func handle(_ ask: Value, of asker: Asker, _ answer: @escaping Answer) {
    do throws(SegueError) {
      let what = try Self.text(ask, "ask", atMost: Limits.identifier)
      switch true {
      case Text.isSame(what, "continue"): try `continue`(ask, of: asker, answer)
      case Text.isSame(what, "push"):
        if ask["device"] == nil {
          try `continue`(ask, isPush: true, of: asker, answer)
        } else {
          try push(ask, of: asker, answer)
        }
      case Text.isSame(what, "inbox"): try list(ask, answer)
      case Text.isSame(what, "failures"): answer(.success(try failures()))
      case Text.isSame(what, "drop"): try drop(ask, answer)
      case Text.isSame(what, "retry"): try retry(ask, answer)
      case Text.isSame(what, "withdraw"): try withdraw(ask, answer)
      case Text.isSame(what, "apps"): answer(.success(try routing.apps(ask)))
      case Text.isSame(what, "route"): answer(.success(try routing.route(ask)))
      case Text.isSame(what, "choose"): try routing.choose(ask, answer)
      case Text.isSame(what, "search"): try searching.search(ask, answer)
      case Text.isSame(what, "open"): try searching.open(ask, of: asker, answer)
      case Text.isSame(what, "forget"): try searching.forget(ask, answer)
      default:
        guard try devices.handle(what, ask, of: asker, answer) else {
          throw SegueError(.unsupportedVersion, "ask: the agent does not know '\(what)'")
        }
      }
    } catch {
      answer(.failure(error))
    }
  }

  /// The asker has gone: cancels its questions.
  func abandon(_ asker: Asker) {
    inbox.abandon(asker)
    devices.abandon(asker)
  }

  // MARK: Continuing

  /// - Parameter isPush: the asker is the origin, and gets the answer when the app is chosen (R3.15).
  private func `continue`(
    _ ask: Value, isPush: Bool = false, of asker: Asker, _ answer: @escaping Answer
  ) throws(SegueError) {
    let activity = try Self.identifier(ask, "activity")
    let app = ask["app"] == nil ? nil : try Self.text(ask, "app", atMost: Limits.identifier)
    let timeout = try Self.timeout(ask)
    let environment = try Self.environment(ask)
    let began: InboxService.Began? =
      isPush
      ? { id, app, isShared in
        answer(Asker.map(.success(id)) { id throws(SegueError) in try .dictionary(Self.entries(id, app, isShared)) })
      } : nil
    inbox.continue(activity, app: app, timeout: timeout, environment: environment, for: asker, began: began) { result in
      answer(Asker.map(result) { report throws(SegueError) in try Self.value(of: report) })
    }
  }

  /// Has another device continue an activity of this one (R3.15). The asker gets the answer when that has begun there.
  private func push(_ ask: Value, of asker: Asker, _ answer: @escaping Answer) throws(SegueError) {
    let activity = try Self.identifier(ask, "activity")
    let app = ask["app"] == nil ? nil : try Self.text(ask, "app", atMost: Limits.identifier)
    try devices.push(
      activity, to: try Self.identifier(ask, "device"), app: app, timeout: try Self.timeout(ask), for: asker, answer)
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
  static func timeout(_ ask: Value) throws(SegueError) -> Int64? {
    guard let value = ask["timeout"] else { return nil }
    guard let milliseconds = value.int64, 1...Limits.longestAsk ~= milliseconds else {
      throw SegueError(.invalidArgument, "timeout: must be 1 to \(Limits.longestAsk) ms")
    }
    return milliseconds
  }

  /// The variables that say where a program shows itself: others may not be set, and are refused by the launcher.
  static func environment(_ ask: Value) throws(SegueError) -> [LaunchRequest.Variable] {
    guard let value = ask["environment"] else { return [] }
    guard let entries = value.entries else {
      throw SegueError(.invalidArgument, "environment: must be a dictionary")
    }
    var variables: [LaunchRequest.Variable] = []
    for entry in entries {
      guard let name = entry.key.string, let value = entry.value.string else {
        throw SegueError(.invalidArgument, "environment: names and values must be strings")
      }
      guard LaunchRequest.variables.contains(where: { Text.isSame($0, name) }) else {
        throw SegueError(.invalidArgument, "environment: \(name) may not be set")
      }
      variables.append(LaunchRequest.Variable(name: name, value: value))
    }
    return variables
  }

  static func value(of report: ColdStartReport) throws(SegueError) -> Value {
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

  private func list(_ ask: Value, _ answer: @escaping Answer) throws(SegueError) {
    var after = Int64.min
    if let value = ask["after"] {
      guard let number = value.int64 else {
        throw SegueError(.invalidArgument, "after: must be the number of an entry")
      }
      after = number
    }
    disk.use({ inbox throws(SegueError) in try inbox.entries() }) { [after, inbox] result in
      answer(
        Asker.map(result) { entries throws(SegueError) in
          let now = Clock.date
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

  private func drop(_ ask: Value, _ answer: @escaping Answer) throws(SegueError) {
    let id = try Self.identifier(ask, "continuation_id")
    disk.use({ inbox throws(SegueError) in try inbox.drop(id, at: Clock.now.date) }) { result in
      answer(Self.found(result))
    }
  }

  private func retry(_ ask: Value, _ answer: @escaping Answer) throws(SegueError) {
    let id = try Self.identifier(ask, "continuation_id")
    disk.use({ inbox throws(SegueError) in try inbox.retry(id) }) { [inbox] result in
      answer(Self.found(result))
      inbox.retry(id)
    }
  }

  private func withdraw(_ ask: Value, _ answer: @escaping Answer) throws(SegueError) {
    inbox.withdraw(try Self.identifier(ask, "activity")) { error in
      answer(error.map { .failure($0) } ?? .success(.emptyDictionary))
    }
  }

  private static func found(_ result: Result<Bool, SegueError>) -> Result<Value, SegueError> {
    Asker.map(result) { isFound throws(SegueError) in
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

  static func text(_ ask: Value, _ key: String, atMost limit: Int) throws(SegueError) -> String {
    guard let text = ask[key]?.string else { throw SegueError(.invalidArgument, "\(key): must be a string") }
    try Text.check(text, key, atMost: limit)
    return text
  }

  static func identifier(_ ask: Value, _ key: String) throws(SegueError) -> Identifier {
    guard let id = ask[key]?.uuid else { throw SegueError(.invalidArgument, "\(key): must be a UUID") }
    return id
  }
}
