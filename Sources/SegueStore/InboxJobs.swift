// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel

/// The object that has the inbox open. Each call may wait for the disk.
public protocol InboxHolder: AnyObject {
  /// Seconds since 1970.
  var date: Double { get }
  /// Uses the inbox, which is opened when it is needed. A damaged one is opened again, which sets it aside.
  func perform<Result>(_ body: (Inbox) throws(SegueError) -> Result) throws(SegueError) -> Result
  /// The content of an attachment that the engine's owner has collected.
  func content(of source: AttachmentSource) -> AttachmentContent.Source
  /// Reports what has no reply.
  func log(_ severity: Severity, _ message: DiagnosticText)
}

/// The requests of the agent's engine to the inbox.
public enum InboxJobs {
  /// - Returns: nil if the request has no reply now.
  public static func run<Holder: InboxHolder>(_ request: InboxRequest, _ holder: Holder) -> InboxReply? {
    switch request {
    case .open: return .opened(result { () throws(SegueError) in try open(holder) })
    case .share(let id, let activity, let origin, let app):
      return .shared(
        id,
        result { () throws(SegueError) in
          try holder.perform { inbox throws(SegueError) in
            try inbox.askAgain(for: activity, of: origin, in: app, at: holder.date)
          }
        })
    case .put(let record, let begins):
      return .put(
        record.continuation, result { () throws(SegueError) in try put(record, begins: begins, holder) })
    case .begin(let app, let bundle, let tried):
      return .begun(
        app: app,
        result { () throws(SegueError) in
          try holder.perform { inbox throws(SegueError) in try begin(bundle, tried, inbox, holder.date) }
        })
    case .load(let id, let app):
      return .loaded(id, app: app, result { () throws(SegueError) in try load(id, holder) })
    case .end(let id, let end):
      let error = failure { () throws(SegueError) in
        try holder.perform { inbox throws(SegueError) in
          _ = try inbox.endDelivery(id, end)
        }
      }
      return error.map { .refused($0) }
    case .acknowledge(let id, let app, let wasSent, let receipt):
      return acknowledged(id, app, wasSent, receipt, holder)
    case .sent(let id, let app):
      let error = failure { () throws(SegueError) in
        try holder.perform { inbox throws(SegueError) in try inbox.noteSent(id, to: app) }
      }
      return error.map { .refused($0) }
    case .decide(let receipt):
      let result = result { () throws(SegueError) in
        try holder.perform { inbox throws(SegueError) in try inbox.decide(receipt) }
      }
      return .decided(receipt.continuation, result)
    case .confirm(let id):
      let error = failure { () throws(SegueError) in
        try holder.perform { inbox throws(SegueError) in _ = try inbox.confirmReceipt(id) }
      }
      return error.map { .refused($0) }
    case .loadKept: return .loadedKept(result { () throws(SegueError) in try KeptJobs.load(holder) })
    case .keep(let record):
      return .kept(record.activity, failure { () throws(SegueError) in try KeptJobs.keep(record, holder) })
    case .withdraw(let id):
      let error = failure { () throws(SegueError) in
        try holder.perform { inbox throws(SegueError) in _ = try inbox.withdraw(id) }
      }
      return .withdrawn(id, error)
    case .settle(let id, let revision, let receipt):
      let error = failure { () throws(SegueError) in
        try holder.perform { inbox throws(SegueError) in _ = try inbox.settle(id, revision: revision, receipt) }
      }
      return .settled(id, error)
    }
  }

  /// The reply if the request cannot even be queued.
  public static func refusal(of request: InboxRequest, _ error: SegueError) -> InboxReply {
    switch request {
    case .open: .opened(.failure(error))
    case .share(let id, _, _, _): .shared(id, .failure(error))
    case .put(let record, _): .put(record.continuation, .failure(error))
    case .begin(let app, _, _): .begun(app: app, .failure(error))
    case .load(let id, let app): .loaded(id, app: app, .failure(error))
    case .acknowledge(let id, let app, _, _): .acknowledged(id, app: app, .failure(error))
    case .decide(let receipt): .decided(receipt.continuation, .failure(error))
    case .loadKept: .loadedKept(.failure(error))
    case .keep(let record): .kept(record.activity, error)
    case .withdraw(let id): .withdrawn(id, error)
    case .settle(let id, _, _): .settled(id, error)
    case .sent, .end, .confirm: .refused(error)
    }
  }

  /// Removes what has expired, and tells of each entry.
  static func expire(_ inbox: Inbox, _ holder: some InboxHolder) throws(SegueError) {
    for entry in try inbox.expire(at: holder.date).entries {
      holder.log(.info, "what waited for \(try inbox.app(of: entry) ?? "an app") has expired")
    }
  }

  private static func open(_ holder: some InboxHolder) throws(SegueError) -> [OwedReceipt] {
    try holder.perform { inbox throws(SegueError) in
      try expire(inbox, holder)
      var owed: [OwedReceipt] = []
      for receipt in try inbox.unconfirmedReceipts() {
        if let source = try inbox.source(of: receipt.continuation) {
          owed.append(OwedReceipt(receipt: receipt, origin: source.origin, activity: source.activity))
        }
      }
      return owed
    }
  }

  private static func begin(
    _ bundle: String, _ tried: [Identifier], _ inbox: Inbox, _ date: Double
  ) throws(SegueError) -> InboxItem? {
    guard let entry = try inbox.beginDelivery(to: bundle, except: tried, at: date) else { return nil }
    return InboxItem(
      continuation: entry.continuation, offer: entry.offer, isStale: entry.isStale, isRedelivered: entry.isRedelivered,
      originFolders: try inbox.originFolders(of: entry.continuation))
  }

  private static func put(
    _ record: InboxRecord, begins: Bool, _ holder: some InboxHolder
  ) throws(SegueError) -> InboxItem? {
    func entry(withContent: Bool) -> IncomingEntry {
      IncomingEntry(
        continuation: record.continuation, app: record.app, offer: record.offer, isStale: record.isStale,
        document: record.document,
        attachments: record.attachments.map { attachment in
          let source = withContent ? attachment.source.map { holder.content(of: $0) } : nil
          return AttachmentContent(name: attachment.name, size: attachment.size, source: source ?? .origin)
        }, principal: record.principal, originFolders: record.originFolders)
    }
    func put(withContent: Bool, in inbox: Inbox, at now: Double) throws(SegueError) -> InboxItem? {
      try inbox.atOnce { () throws(SegueError) in
        if let push = record.push { try inbox.take(push) }
        _ = try inbox.put(entry(withContent: withContent), at: now)
        return begins ? try begin(record.app, [], inbox, now) : nil
      }
    }
    return try holder.perform { inbox throws(SegueError) in
      let now = holder.date
      try expire(inbox, holder)
      do throws(SegueError) {
        return try put(withContent: true, in: inbox, at: now)
      } catch {
        guard error.status == .limitExceeded, record.attachments.contains(where: { $0.source != nil }) else {
          throw error
        }
        holder.log(.info, "\(error.message): the attachments stay with \(record.offer.appName)")
        return try put(withContent: false, in: inbox, at: now)
      }
    }
  }

  private static func load(_ id: Identifier, _ holder: some InboxHolder) throws(SegueError) -> [UInt8] {
    try holder.perform { inbox throws(SegueError) in
      guard let entry = try inbox.entry(id) else {
        throw SegueError(.notFound, "the entry was dropped, or has expired")
      }
      return try inbox.document(of: entry.payload)
    }
  }

  private static func acknowledged(
    _ id: Identifier, _ app: Identifier, _ wasSent: Bool, _ receipt: Receipt, _ holder: some InboxHolder
  ) -> InboxReply {
    do throws(SegueError) {
      let isBelieved = try holder.perform { inbox throws(SegueError) in
        guard receipt.outcome == .restored, !wasSent, try inbox.entry(id) != nil else { return true }
        return try inbox.wasSent(id, to: app)
      }
      guard isBelieved else { return .disbelieved(id, app: app) }
      return .acknowledged(id, app: app, .success(try acknowledge(receipt, holder)))
    } catch {
      return .acknowledged(id, app: app, .failure(error))
    }
  }

  /// - Returns: the receipt, if it goes to the origin.
  private static func acknowledge(_ receipt: Receipt, _ holder: some InboxHolder) throws(SegueError) -> OwedReceipt? {
    try holder.perform { inbox throws(SegueError) in
      guard let entry = try inbox.entry(receipt.continuation) else { return nil }
      guard Text.isSame(entry.app, receipt.receiver.bundleIdentifier) else {
        holder.log(.error, "\(receipt.receiver.bundleIdentifier) has answered what waits for \(entry.app)")
        return nil
      }
      let now = holder.date
      // Otherwise a crash between the two would leave the origin without its receipt.
      let isDecided = try inbox.atOnce { () throws(SegueError) in
        try inbox.acknowledge(receipt.continuation, at: now)
        if receipt.outcome == .restored { try inbox.markUsed(entry.app, at: now) }
        return try inbox.decide(receipt)
      }
      guard isDecided else { return nil }
      return OwedReceipt(receipt: receipt, origin: entry.offer.origin, activity: entry.offer.description.id)
    }
  }

  private static func result<Success>(
    _ body: () throws(SegueError) -> Success
  ) -> Result<Success, SegueError> {
    do throws(SegueError) { return .success(try body()) } catch { return .failure(error) }
  }

  private static func failure(_ body: () throws(SegueError) -> Void) -> SegueError? {
    do throws(SegueError) {
      try body()
      return nil
    } catch {
      return error
    }
  }
}
