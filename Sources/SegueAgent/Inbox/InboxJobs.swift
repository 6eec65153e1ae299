import SegueEngine
import SegueModel
import SegueRouting
import SegueRuntime
import SegueStore
import SegueTransport

/// What the engine asks of the inbox, done by the inbox's thread.
enum InboxJobs {
  /// - Returns: nil if the request has no reply.
  static func run(_ request: InboxRequest, _ thread: InboxThread) -> InboxReply? {
    switch request {
    case .open: return .opened(result { () throws(SegueError) in try open(thread) })
    case .put(let record):
      return .put(record.continuation, failure { () throws(SegueError) in try put(record, thread) })
    case .begin(let app, let bundle, let tried):
      return .begun(app: app, result { () throws(SegueError) in try begin(bundle, tried, thread) })
    case .load(let id, let app):
      return .loaded(id, app: app, result { () throws(SegueError) in try load(id, thread) })
    case .end(let id, let isCrash):
      note { () throws(SegueError) in
        try thread.perform { inbox throws(SegueError) in
          _ = try inbox.endDelivery(id, isCrash ? .crashed : .unanswered)
        }
      }
      return nil
    case .acknowledge(let id, let app, let receipt):
      return .acknowledged(id, app: app, result { () throws(SegueError) in try acknowledge(receipt, thread) })
    case .decide(let receipt):
      let result = result { () throws(SegueError) in
        try thread.perform { inbox throws(SegueError) in try inbox.decide(receipt) }
      }
      return .decided(receipt.continuation, result)
    case .confirm(let id):
      note { () throws(SegueError) in
        try thread.perform { inbox throws(SegueError) in _ = try inbox.confirmReceipt(id) }
      }
      return nil
    }
  }

  /// The reply if the request cannot even be queued.
  static func refusal(of request: InboxRequest, _ error: SegueError) -> InboxReply? {
    switch request {
    case .open: .opened(.failure(error))
    case .put(let record): .put(record.continuation, error)
    case .begin(let app, _, _): .begun(app: app, .failure(error))
    case .load(let id, let app): .loaded(id, app: app, .failure(error))
    case .acknowledge(let id, let app, _): .acknowledged(id, app: app, .failure(error))
    case .decide(let receipt): .decided(receipt.continuation, .failure(error))
    case .end, .confirm: nil
    }
  }

  private static func open(_ thread: InboxThread) throws(SegueError) -> [OwedReceipt] {
    try thread.perform { inbox throws(SegueError) in
      _ = try inbox.expire(at: Clock.now.date)
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
    _ bundle: String, _ tried: [Identifier], _ thread: InboxThread
  ) throws(SegueError) -> InboxItem? {
    try thread.perform { inbox throws(SegueError) in
      guard let entry = try inbox.beginDelivery(to: bundle, except: tried, at: Clock.now.date) else { return nil }
      return InboxItem(
        continuation: entry.continuation, offer: entry.offer, isStale: entry.isStale,
        isRedelivered: entry.isRedelivered)
    }
  }

  private static func put(_ record: InboxRecord, _ thread: InboxThread) throws(SegueError) {
    var attachments: [AttachmentContent] = []
    for attachment in record.attachments {
      attachments.append(AttachmentContent(name: attachment.name, size: attachment.size, source: .origin))
    }
    let entry = IncomingEntry(
      continuation: record.continuation, app: record.app, offer: record.offer, isStale: record.isStale,
      document: record.document, attachments: attachments)
    _ = try thread.perform { inbox throws(SegueError) in
      let now = Clock.now.date
      _ = try inbox.expire(at: now)
      return try inbox.put(entry, at: now)
    }
  }

  private static func load(_ id: Identifier, _ thread: InboxThread) throws(SegueError) -> [UInt8] {
    try thread.perform { inbox throws(SegueError) in
      guard let entry = try inbox.entry(id) else {
        throw SegueError(.notFound, "the entry was dropped, or has expired")
      }
      return try inbox.document(of: entry.payload)
    }
  }

  /// - Returns: the receipt, if it goes to the origin.
  private static func acknowledge(_ receipt: Receipt, _ thread: InboxThread) throws(SegueError) -> OwedReceipt? {
    try thread.perform { inbox throws(SegueError) in
      guard let entry = try inbox.entry(receipt.continuation) else { return nil }
      guard Text.isSame(entry.app, receipt.receiver.bundleIdentifier) else {
        Log.write(.error, "\(receipt.receiver.bundleIdentifier) has answered what waits for \(entry.app)")
        return nil
      }
      let now = Clock.now.date
      try inbox.acknowledge(receipt.continuation, at: now)
      if receipt.outcome == .restored { try inbox.markUsed(entry.app, at: now) }
      guard try inbox.decide(receipt) else { return nil }
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

  private static func note(_ body: () throws(SegueError) -> Void) {
    if let error = failure(body) { Log.write(.error, "inbox: \(error.message)") }
  }
}
