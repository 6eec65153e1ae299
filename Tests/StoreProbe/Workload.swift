// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueEngine
import SegueModel
import SegueStore

/// One call of the inbox, with small numbers for what it names: the same seed gives the same calls.
enum Operation {
  case put(entry: Int, app: Int, expires: Double?)
  case begin(app: Int)
  case end(entry: Int, DeliveryEnd)
  case acknowledge(entry: Int)
  case drop(entry: Int)
  case retry(entry: Int)
  case keep(activity: Int, expires: Double?)
  case withdraw(activity: Int)
  case withdrawOffers(app: Int)
  case choose(app: Int?, type: Int)
  case markUsed(app: Int)
  case forget(app: Int)
  case decide(receipt: Int, Outcome)
  case confirm(receipt: Int)
  case expire
}

/// Calls at random, and the time at which each happens.
struct Workload {
  private var state: UInt64
  private(set) var now = 1_800_000_000.0

  init(seed: UInt64) { state = seed }

  /// SplitMix64.
  mutating func below(_ bound: Int) -> Int {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return Int((mixed ^ mixed >> 31).multipliedFullWidth(by: UInt64(bound)).high)
  }

  mutating func next() -> Operation {
    now += Double(below(20) == 0 ? below(200_000) : below(60))
    switch below(30) {
    case 0...6: return .put(entry: below(16), app: below(3), expires: expiry())
    case 7...11: return .begin(app: below(3))
    case 12...14: return .end(entry: below(16), [.untold, .unanswered, .crashed][below(3)])
    case 15...17: return .acknowledge(entry: below(16))
    case 18: return .drop(entry: below(16))
    case 19: return .retry(entry: below(16))
    case 20...21: return .keep(activity: below(6), expires: expiry())
    case 22: return .withdraw(activity: below(6))
    case 23: return .withdrawOffers(app: below(3))
    case 24: return .choose(app: below(3) == 0 ? nil : below(3), type: below(4))
    case 25: return .markUsed(app: below(3))
    case 26: return below(5) == 0 ? .forget(app: below(3)) : .markUsed(app: below(3))
    case 27: return .decide(receipt: below(16), below(2) == 0 ? .restored : .unknown)
    case 28: return .confirm(receipt: below(16))
    default: return .expire
    }
  }

  private mutating func expiry() -> Double? { below(3) == 0 ? now + Double(below(100_000)) - 1_000 : nil }
}

/// The values that the numbers of an operation stand for.
enum Sample {
  static func id(_ number: Int) -> Identifier { Identifier(high: 0x5e60e, low: UInt64(number)) }
  static func app(_ number: Int) -> String { "com.example.app\(number)" }
  static func type(_ number: Int) -> String { "com.example.type\(number)" }

  static func offer(_ number: Int, expires: Double?) -> Offer {
    let description = OfferDescription(
      id: id(number), type: type(number % 4), title: number % 5 == 0 ? nil : "Title \(number)",
      payloadVersion: UInt32(number), sizeHint: UInt64(number * 1000), expirationDate: expires,
      supportsContinuationStreams: number % 2 == 0)
    return Offer(
      description: description, origin: id(1000 + number), appName: "App \(number)", bundleIdentifier: app(number % 3),
      deviceName: "Desk", rank: 0, activatedAt: 0)
  }

  /// Few bytes mostly; some have more than a page.
  static func document(_ number: Int) -> [UInt8] { bytes(number, number % 4 == 3 ? 9_000 : 40 + number) }

  static func attachments(_ number: Int) -> [AttachmentContent] {
    guard number % 4 == 1 else { return [] }
    return [
      AttachmentContent(name: "here", size: 5_000, source: .bytes(bytes(number + 1, 5_000))),
      AttachmentContent(name: "there", size: 1 << 33, source: .origin),
    ]
  }

  static func receipt(_ number: Int, _ outcome: Outcome, _ date: Double) -> Receipt {
    let receiver = Receiver(id: id(2000 + number), deviceName: "Desk", appName: "App", bundleIdentifier: app(0))
    return Receipt(
      continuation: id(number), receiver: receiver, outcome: outcome, status: outcome == .restored ? .ok : .cancelled,
      reason: "reason \(number)", isStale: false, date: date)
  }

  static func bytes(_ seed: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &+ seed) &* 37 >> 3) }
  }

  /// FNV-1a.
  static func hash(_ bytes: [UInt8]) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }
}

extension Inbox {
  /// Runs an operation.
  /// - Returns: its result, as text.
  func run(_ operation: Operation, at now: Double) throws(SegueError) -> String {
    switch operation {
    case .put(let entry, let app, let expires):
      let incoming = IncomingEntry(
        continuation: Sample.id(entry), app: Sample.app(app), offer: Sample.offer(entry, expires: expires),
        isStale: entry % 2 == 1, document: Sample.document(entry), attachments: Sample.attachments(entry))
      do throws(SegueError) {
        switch try put(incoming, at: now) {
        case .stored: return "stored"
        case .known: return "known"
        case .ended: return "ended"
        }
      } catch {
        guard error.status == .invalidState else { throw error }
        return "expired"
      }
    case .begin(let app):
      guard let entry = try beginDelivery(to: Sample.app(app), at: now) else { return "none" }
      return "\(entry.continuation.number) \(entry.isRedelivered)"
    case .end(let entry, let end): return "\(try endDelivery(Sample.id(entry), end))"
    case .acknowledge(let entry): return "\(try acknowledge(Sample.id(entry), at: now))"
    case .drop(let entry): return "\(try drop(Sample.id(entry), at: now))"
    case .retry(let entry): return "\(try retry(Sample.id(entry)))"
    case .keep(let activity, let expires):
      do throws(SegueError) {
        try keep(
          Sample.offer(activity, expires: expires), team: "TEAM", document: Sample.document(activity),
          attachments: Sample.attachments(activity), at: now)
        return "kept"
      } catch {
        guard error.status == .invalidState else { throw error }
        return "expired"
      }
    case .withdraw(let activity): return "\(try withdraw(Sample.id(activity)))"
    case .withdrawOffers(let app):
      return try withdrawOffers(ofApp: Sample.app(app)).map { "\($0.number)" }.joined(separator: " ")
    case .choose(let app, let type):
      try choose(app.map { Sample.app($0) }, for: Sample.type(type))
      return ""
    case .markUsed(let app):
      try markUsed(Sample.app(app), at: now)
      return ""
    case .forget(let app):
      try forget(app: Sample.app(app))
      return ""
    case .decide(let receipt, let outcome): return "\(try decide(Sample.receipt(receipt, outcome, now)))"
    case .confirm(let receipt): return "\(try confirmReceipt(Sample.id(receipt)))"
    case .expire:
      let gone = try expire(at: now)
      return (gone.entries + gone.keptOffers).map { "\($0.number)" }.joined(separator: " ")
    }
  }

  /// All that it holds, as lines.
  func summary() throws(SegueError) -> String {
    var lines: [String] = []
    for entry in try entries() {
      let state = entry.state == .waiting ? "waiting" : "delivered"
      lines.append(
        """
        entry \(entry.continuation.number) \(entry.app) \(state) \(entry.attempts) \(entry.crashes) \(entry.isStale) \
        \(Int(entry.receivedAt)) \(Int(entry.expiresAt)) \(try summary(of: entry.payload, entry.offer))
        """)
    }
    for kept in try keptOffers() {
      lines.append("kept \(Int(kept.keptAt)) \(Int(kept.expiresAt)) \(try summary(of: kept.payload, kept.offer))")
    }
    for choice in try choices() { lines.append("choice \(choice.type) \(choice.app)") }
    for app in try uses() { lines.append("used \(app)") }
    for receipt in try unconfirmedReceipts() {
      lines.append("receipt \(receipt.continuation.number) \(receipt.outcome == .restored) \(Int(receipt.date))")
    }
    return lines.joined(separator: "\n")
  }

  private func summary(of payload: StoredPayload, _ offer: Offer) throws(SegueError) -> String {
    var text = "\(offer.description.title ?? "-") \(Sample.hash(try document(of: payload)))"
    for attachment in payload.attachments {
      text += " \(attachment.name) \(attachment.size)"
      guard attachment.isHere else { continue }
      let file = linux_memory_file()
      defer { _ = close(file) }
      try copy(attachment, to: file)
      var bytes = [UInt8](repeating: 0, count: Int(attachment.size) + 1)
      let count = pread(file, &bytes, bytes.count, 0)
      text += " \(Sample.hash(Array(bytes.prefix(max(0, count)))))"
    }
    return text
  }
}

extension Identifier {
  /// The number from which `Sample.id` made the identifier.
  var number: Int { bytes.suffix(4).reduce(0) { $0 << 8 | Int($1) } }
}
