// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueApp
import SegueCrypto
import SegueModel
import SegueOpenSSL
import SegueRuntime
import SegueStore
import SegueSystem
import SegueTransport

typealias AccountThread = StoreThread<AccountStore>

/// The account of this device, on a thread of its own: what it stores waits for the disk, and passphrases take long.
/// OpenSSL is loaded once there is an account, or one is made or joined.
final class AccountStore: AgentStore {
  static var name: StaticString { "account" }
  static var holdsDocuments: Bool { false }

  private let folder: StateFolder
  private let file: AccountFile
  private var service: AccountService?
  /// The events that reading the account has caused.
  private var early: [AccountEvent] = []
  /// Whether OpenSSL's memory for keys is not locked, and whether the log says so.
  private var (isLockingRefused, isRefusalNoted) = (false, false)
  /// Nil until they are needed.
  private var kept: StoredSettings?

  private init(_ folder: StateFolder) {
    self.folder = folder
    file = AccountFile(in: folder)
  }

  static func open(in folder: StateFolder) throws(SegueError) -> AccountStore { AccountStore(folder) }

  var notice: String? { nil }
  func takeReports() -> [String] { [] }
  func releaseMemory() {}

  /// Uses the account.
  /// - Parameter isFirst: whether the call may make the first one: without it, NOT_FOUND is thrown where there is none.
  func use(isFirst: Bool, _ body: (AccountService, Instant) -> [AccountEvent]) -> AccountReport {
    let now = Clock.now
    defer { noteLocking() }
    do throws(SegueError) {
      let events = body(try account(isFirst: isFirst), now)
      return AccountReport(events: takeEarly() + events, account: snapshot(now))
    } catch {
      return AccountReport(error: error, events: takeEarly(), account: snapshot(now))
    }
  }

  private func account(isFirst: Bool) throws(SegueError) -> AccountService {
    if let service { return service }
    guard hasFile || isFirst else {
      throw SegueError(.notFound, "account: this device is in none; create one, or join one with an invite")
    }
    // From here on this process holds keys.
    _ = linux_forbid_dumps()
    isLockingRefused = !OpenSSL.lockKeys(try OpenSSL.functions())
    let made = AccountService(storage: file, cryptography: try OpenSSLCryptography())
    service = made
    early = made.upgrade(at: Clock.now)
    return made
  }

  /// Says once that keys may be swapped out.
  private func noteLocking() {
    guard isLockingRefused || Secret.isLockingRefused, !isRefusalNoted else { return }
    isRefusalNoted = true
    Log.info("account: the system locks no memory (RLIMIT_MEMLOCK), so that keys in use may be swapped out")
  }

  private func takeEarly() -> [AccountEvent] {
    defer { early = [] }
    return early
  }

  /// Whether there is a file, which perhaps cannot be used.
  private var hasFile: Bool {
    do throws(SegueError) { return try file.load() != nil } catch { return true }
  }

  /// The present state of the account; loads the account if there is one.
  func snapshot(_ now: Instant) -> AccountSnapshot {
    var snapshot = AccountSnapshot()
    if service == nil, !hasFile { return snapshot }
    defer { noteLocking() }
    do throws(SegueError) {
      return try account(isFirst: true).snapshot(at: now)
    } catch {
      snapshot.status = .unusable(error)
    }
    return snapshot
  }

  // MARK: Sites

  func sites() -> [UInt8] { folder.sites(atMost: SiteRecords.sizeLimit) }
  func storeSites(_ file: [UInt8]) throws(SegueError) { try folder.storeSites(file) }

  // MARK: Settings

  /// Returns what is stored. A file that cannot be read stays until the user sets something, so that it is reported,
  /// and all is private, after the next start, too.
  func settings() -> StoredSettings {
    if let kept { return kept }
    var found = StoredSettings()
    do throws(SegueError) {
      if let file = try folder.deviceSettings() { found.settings = try DeviceSettings(file: file) }
    } catch {
      found.isUnreadable = true
      found.settings = .unreadable
      found.problem = SegueError(
        error.status,
        "\(error.message); this device offers nothing to others until it is set anew what is private")
    }
    kept = found
    return found
  }

  /// Changes what is stored, in one write; what cannot be read is kept under another name.
  func change(_ change: (inout DeviceSettings) throws(SegueError) -> Void) throws(SegueError) -> DeviceSettings {
    let former = settings()
    var settings = former.settings
    try change(&settings)
    let file = try settings.file()
    if former.problem?.status == .malformed {
      Log.write(.error, "what was set before is kept as \(try folder.setDeviceSettingsAside())")
    }
    try folder.storeDeviceSettings(file)
    kept = StoredSettings(settings: settings)
    return settings
  }

  /// Keeps something that the agent has learned, in one write, or none if nothing has changed. Settings that cannot be
  /// read are left to the user.
  func keep(_ change: (inout DeviceSettings) -> Void) throws(SegueError) -> DeviceSettings {
    var known = settings()
    let former = try known.settings.file()
    change(&known.settings)
    guard !known.isUnreadable else {
      kept = known
      return known.settings
    }
    guard !former.elementsEqual(try known.settings.file()) else { return known.settings }
    return try self.change { change(&$0) }
  }
}
