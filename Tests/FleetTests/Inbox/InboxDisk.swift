import SegueAgentCore
import Foundation
import SegueEngine
import SegueModel

@testable import SegueStore

/// The disk of a simulated device, with the state folder of its agents: the inbox that ships, and what it is asked for.
///
/// All that a call of the inbox has stored is on the disk when it returns: StoreTests take the power away at each of
/// its writes. So a crash takes calls here: those that wait, and of the one in progress nothing or all.
final class InboxDisk: InboxHolder {
  private let folder = TemporaryFolder()
  private let now: () -> Double
  private var state: StateFolder?
  private var inbox: Inbox?
  /// Whether the request in progress only reads.
  private var isReading = false
  /// Whether the disk has no room.
  var isFull = false
  /// The most milliseconds until what was written is on the disk.
  var slowness: Int64 = 3

  /// - Parameter now: seconds since 1970.
  init(_ now: @escaping () -> Double) { self.now = now }

  // MARK: For an agent

  /// Does what an agent asks for. All of it is on the disk then.
  func run(_ request: InboxRequest) -> InboxReply? {
    switch request {
    case .load, .share: isReading = true
    default: break
    }
    defer { isReading = false }
    return InboxJobs.run(request, self)
  }

  /// The content of an attachment that an app fetches.
  /// - Parameter activity: what an app has left; nil: what waits.
  func attachment(of request: StreamRequest, in activity: Identifier?) -> Result<[UInt8], SegueError> {
    isReading = true
    defer { isReading = false }
    let name = request.attachment?.name ?? ""
    do throws(SegueError) {
      return .success(
        try perform { inbox throws(SegueError) in
          let payload: StoredPayload?
          if let activity {
            payload = try inbox.keptOffer(activity)?.payload
          } else {
            payload = try inbox.entry(request.continuationID.ofDelivery)?.payload
          }
          let stored = payload?.attachments.first { $0.name == name }
          guard let stored else { throw SegueError(.notFound, "there is none of that name") }
          return try Self.bytes(of: stored, in: inbox)
        })
    } catch {
      return .failure(error)
    }
  }

  private static func bytes(of stored: StoredAttachment, in inbox: Inbox) throws(SegueError) -> [UInt8] {
    guard let file = tmpfile() else { throw SegueError(.system, "no file") }
    defer { fclose(file) }
    try inbox.copy(stored, to: fileno(file))
    var bytes = [UInt8](repeating: 0, count: Int(stored.size))
    guard pread(fileno(file), &bytes, bytes.count, 0) == bytes.count else { throw SegueError(.system, "no bytes") }
    return bytes
  }

  /// The agent has ended, in whichever way.
  func release() {
    inbox = nil
    state = nil
  }

  var date: Double { now() }

  func content(of source: AttachmentSource) -> AttachmentContent.Source {
    .bytes(unsafeDowncast(source, to: CollectedBytes.self).bytes)
  }

  func log(_ severity: Severity, _ message: DiagnosticText) {}

  func perform<Result>(_ body: (Inbox) throws(SegueError) -> Result) throws(SegueError) -> Result {
    guard isReading || !isFull else { throw SegueError(.system, "inbox: the disk is full") }
    return try body(try opened())
  }

  private func opened() throws(SegueError) -> Inbox {
    if let inbox { return inbox }
    if state == nil { state = try StateFolder.open(folder.path + "/state", on: Self.machine) }
    guard let state else { throw SegueError(.system, "inbox: no folder") }
    let opened = try Inbox.open(in: state)
    inbox = opened
    return opened
  }

  private static let machine = MachineIdentity(ofMachine: "0123456789abcdef0123456789abcdef")

  // MARK: For the user, and for checkers

  func entries() throws(SegueError) -> [InboxEntry] {
    isReading = true
    defer { isReading = false }
    return try perform { inbox throws(SegueError) in try inbox.entries() }
  }
}

/// A folder of one test, in memory where there is such a place, removed with the object.
private final class TemporaryFolder {
  let path: String

  init() {
    let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
    var template = Array("\(parent)/segue-fleet-XXXXXX".utf8CString)
    path = String(cString: mkdtemp(&template)!)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
