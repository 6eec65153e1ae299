// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueStore
import SegueSystem

/// The disk of a simulated device. Its agents store there the inbox and the saved activities, in the databases that
/// ship, in a folder that goes with this object; and the account and its settings, in memory.
///
/// All that a call of the inbox has stored is on the disk when it returns: StoreTests take the power away at each of
/// its writes. So a crash takes calls here: those that wait, and of the one in progress nothing or all.
public final class FleetDisk: InboxHolder {
  private let clock: DeviceClock
  private var folder: TemporaryFolder?
  private var state: StateFolder?
  private var inbox: Inbox?
  private var saved: SavedActivities?
  /// Whether the request in progress only reads.
  private var isReading = false
  /// Whether the disk has no room.
  public var isFull = false
  /// The most milliseconds until what was written is on the disk.
  public var slowness: Int64 = 3
  /// The account of the device.
  let account = AccountBytes()
  var settings = DeviceSettings()
  /// The file of what is known about sites.
  var sites: [UInt8] = []

  init(_ clock: DeviceClock) { self.clock = clock }

  // MARK: For an agent

  /// Does what an agent asks for. All of it is on the disk then.
  public func run(_ request: InboxRequest) -> InboxReply? {
    switch request {
    case .load, .share: isReading = true
    default: break
    }
    defer { isReading = false }
    return InboxJobs.run(request, self)
  }

  /// Uses the inbox without a change.
  public func read<Result>(_ body: (Inbox) throws(SegueError) -> Result) throws(SegueError) -> Result {
    isReading = true
    defer { isReading = false }
    return try perform(body)
  }

  public func perform<Result>(_ body: (Inbox) throws(SegueError) -> Result) throws(SegueError) -> Result {
    guard isReading || !isFull else { throw SegueError(.system, "inbox: the disk is full") }
    return try body(try openedInbox())
  }

  /// Uses the saved activities, without those that have expired.
  func performSaved<Result>(
    _ body: (SavedActivities, Double) throws(SegueError) -> Result
  ) throws(SegueError) -> Result {
    guard !isFull else { throw SegueError(.system, "saved activities: the disk is full") }
    let opened = if let saved { saved } else { try SavedActivities.open(in: try openedState()) }
    saved = opened
    _ = try opened.expire(at: date)
    return try body(opened, date)
  }

  private func openedInbox() throws(SegueError) -> Inbox {
    if let inbox { return inbox }
    let opened = try Inbox.open(in: try openedState())
    inbox = opened
    return opened
  }

  private func openedState() throws(SegueError) -> StateFolder {
    if let state { return state }
    let folder = if let folder { folder } else { try TemporaryFolder() }
    self.folder = folder
    let opened = try StateFolder.open(String(joining: "\(folder.path)/state"), on: Self.machine)
    state = opened
    return opened
  }

  /// The agent has ended, in whichever way.
  public func release() {
    inbox = nil
    saved = nil
    state = nil
  }

  private static let machine = MachineIdentity(ofMachine: "0123456789abcdef0123456789abcdef")

  // MARK: InboxHolder

  public var date: Double { clock.now.date }

  public func content(of source: AttachmentSource) -> AttachmentContent.Source {
    // An agent of a fleet collects no others.
    .bytes(unsafeDowncast(source, to: CollectedBytes.self).bytes)
  }

  public func log(_ severity: Severity, _ message: DiagnosticText) {}
}

/// The content of an attachment that an agent of a fleet has collected.
public final class CollectedBytes: AttachmentSource, @unchecked Sendable {
  public let bytes: [UInt8]

  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
    super.init()
  }
}

/// An account in memory.
final class AccountBytes: AccountStorage {
  private var file: [UInt8]?

  func load() throws(SegueError) -> Secret? {
    guard let file else { return nil }
    return try Secret.copy(of: file)
  }

  func store(_ file: Secret) throws(SegueError) { self.file = file.bytes }
  func erase() throws(SegueError) { file = nil }

  func setAside() throws(SegueError) -> [String] {
    file = nil
    return []
  }
}
