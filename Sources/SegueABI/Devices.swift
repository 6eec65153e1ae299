// Section 16 of segue.h: the devices of the user.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

/// Bytes, as `Limits` of SegueTrust has them, which is not in the library.
private enum Longest {
  static let invite = 2_048
  static let recoveryFile = 8 * 1024
  static let passphrase = 1_024
}

/// A question to the agent about devices: what the caller's arguments say.
private struct DeviceQuestion {
  var entries: [(key: Value, value: Value)] = []

  @inline(never)
  mutating func add(_ name: StaticString, _ value: Value) {
    entries.append((key: .string(String(joining: "\(name)")), value: value))
  }

  @inline(never)
  mutating func add(
    _ name: StaticString, _ text: UnsafePointer<CChar>?, _ length: Int, atMost limit: Int = Limits.identifier
  ) throws(SegueError) {
    add(name, .string(try Arguments.text(text, length, name, atMost: limit)))
  }

  mutating func addName(_ text: UnsafePointer<CChar>?, _ length: Int) throws(SegueError) {
    if text != nil { try add("device_name", text, length) }
  }

  mutating func addDevice(_ device: UnsafePointer<UInt8>?) throws(SegueError) {
    add("device", .uuid(try Arguments.identifier(device, "device")))
  }

  mutating func addEnvironment() throws(SegueError) { add("environment", try App.launchEnvironment()) }

  /// Adds the entries of a dictionary of the caller's.
  mutating func addAll(_ value: OpaquePointer?, _ name: StaticString) throws(SegueError) {
    try handles.use(value, .value) { (value) throws(SegueError) in
      guard let more = value.value.entries else {
        throw SegueError(.wrongKind, "\(name): a dictionary is needed, not \(value.value.kind.name)")
      }
      entries += more
    }
  }
}

/// Asks, waits, and gives the answer.
/// - Parameters:
///   - timeout: milliseconds, 0 for the limit; nil if the question takes none.
///   - isAtOnce: nothing is waited for, so the timeout does not count.
///   - arguments: adds what the question is about.
@inline(never)
private func ask(
  _ app: OpaquePointer?, _ what: StaticString, timeout: UInt32? = nil,
  isAtOnce: Bool = false, _ answer: UnsafeMutablePointer<OpaquePointer?>? = nil,
  _ arguments: (inout DeviceQuestion) throws(SegueError) -> Void = { _ in }
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    var question = DeviceQuestion()
    try arguments(&question)
    var wait: Int64?
    if let timeout { wait = try Arguments.timeout(timeout) ?? AgentClient.usualTimeout }
    try handles.give(try app.askAboutDevices(what, question.entries, timeout: isAtOnce ? nil : wait), to: answer)
  }
}

@_cdecl("segue_app_get_account") @implementation
public func segue_app_get_account(
  _ app: OpaquePointer?, _ after: Int64, _ timeout: UInt32, _ account: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  ask(app, "account", timeout: timeout, isAtOnce: after == 0, account) { question in
    if after != 0 { question.add("after", .integer(after)) }
  }
}

@_cdecl("segue_app_create_account") @implementation
public func segue_app_create_account(
  _ app: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ nameLength: Int, _ deviceName: UnsafePointer<CChar>?,
  _ length: Int
) -> segue_status {
  ask(app, "create-account") { (question) throws(SegueError) in
    try question.add("name", name, nameLength)
    try question.addName(deviceName, length)
  }
}

@_cdecl("segue_app_invite") @implementation
public func segue_app_invite(
  _ app: OpaquePointer?, _ options: OpaquePointer?, _ invite: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  ask(app, "invite", invite) { (question) throws(SegueError) in
    if options != nil { try question.addAll(options, "options") }
  }
}

@_cdecl("segue_app_cancel_invites") @implementation
public func segue_app_cancel_invites(
  _ app: OpaquePointer?, _ link: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  ask(app, "cancel-invites") { question throws(SegueError) in
    if link != nil { try question.add("link", link, length, atMost: Longest.invite) }
  }
}

@_cdecl("segue_app_read_invite") @implementation
public func segue_app_read_invite(
  _ app: OpaquePointer?, _ link: UnsafePointer<CChar>?, _ length: Int, _ invite: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  ask(app, "read-invite", invite) { (question) throws(SegueError) in
    try question.add("link", link, length, atMost: Longest.invite)
  }
}

@_cdecl("segue_app_join") @implementation
public func segue_app_join(
  _ app: OpaquePointer?, _ link: UnsafePointer<CChar>?, _ length: Int, _ deviceName: UnsafePointer<CChar>?,
  _ nameLength: Int, _ timeout: UInt32, _ join: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  ask(app, "join", timeout: timeout, join) { (question) throws(SegueError) in
    try question.add("link", link, length, atMost: Longest.invite)
    try question.addName(deviceName, nameLength)
  }
}

@_cdecl("segue_app_await_join") @implementation
public func segue_app_await_join(_ app: OpaquePointer?, _ join: Int64, _ timeout: UInt32) -> segue_status {
  ask(app, "await-join", timeout: timeout) { question in question.add("join", .integer(join)) }
}

@_cdecl("segue_app_answer_join") @implementation
public func segue_app_answer_join(_ app: OpaquePointer?, _ join: Int64, _ admits: Bool) -> segue_status {
  ask(app, "answer-join") { question in
    question.add("join", .integer(join))
    question.add("admits", .bool(admits))
  }
}

@_cdecl("segue_app_rename_device") @implementation
public func segue_app_rename_device(
  _ app: OpaquePointer?, _ device: UnsafePointer<UInt8>?, _ name: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  ask(app, "rename-device") { (question) throws(SegueError) in
    try question.add("name", name, length)
    if device != nil { try question.addDevice(device) }
  }
}

@_cdecl("segue_app_revoke_device") @implementation
public func segue_app_revoke_device(_ app: OpaquePointer?, _ device: UnsafePointer<UInt8>?) -> segue_status {
  ask(app, "revoke-device") { (question) throws(SegueError) in try question.addDevice(device) }
}

@_cdecl("segue_app_accept_roster") @implementation
public func segue_app_accept_roster(
  _ app: OpaquePointer?, _ device: UnsafePointer<UInt8>?, _ digest: UnsafePointer<UInt8>?
) -> segue_status {
  ask(app, "accept-roster") { (question) throws(SegueError) in
    try question.addDevice(device)
    let bytes = try Arguments.bytes(digest, Limits.digest, "digest", atMost: Limits.digest)
    question.add("digest", .data(Array(bytes)))
  }
}

@_cdecl("segue_app_leave_account") @implementation
public func segue_app_leave_account(
  _ app: OpaquePointer?, _ abandons: Bool, _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  ask(app, "leave-account", result) { question in question.add("abandons", .bool(abandons)) }
}

@_cdecl("segue_app_get_recovery_file") @implementation
public func segue_app_get_recovery_file(
  _ app: OpaquePointer?, _ passphrase: UnsafePointer<CChar>?, _ length: Int,
  _ recovery: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  ask(app, "recovery-file", recovery) { (question) throws(SegueError) in
    try question.add("passphrase", passphrase, length, atMost: Longest.passphrase)
  }
}

@_cdecl("segue_app_recover_account") @implementation
public func segue_app_recover_account(
  _ app: OpaquePointer?, _ file: UnsafePointer<UInt8>?, _ size: Int, _ passphrase: UnsafePointer<CChar>?,
  _ length: Int
) -> segue_status {
  ask(app, "recover-account") { (question) throws(SegueError) in
    question.add("file", .data(Array(try Arguments.bytes(file, size, "file", atMost: Longest.recoveryFile))))
    try question.add("passphrase", passphrase, length, atMost: Longest.passphrase)
  }
}

@_cdecl("segue_app_set_devices") @implementation
public func segue_app_set_devices(_ app: OpaquePointer?, _ settings: OpaquePointer?) -> segue_status {
  ask(app, "set-devices") { (question) throws(SegueError) in try question.addAll(settings, "settings") }
}

@_cdecl("segue_activity_push_to_device") @implementation
public func segue_activity_push_to_device(
  _ activity: OpaquePointer?, _ device: UnsafePointer<UInt8>?, _ bundle: UnsafePointer<CChar>?, _ length: Int,
  _ timeout: UInt32, _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let device = try Arguments.identifier(device, "device")
    let bundle = try Arguments.optionalText(bundle, length, "bundle_identifier", atMost: Limits.identifier)
    let timeout = try Arguments.timeout(timeout)
    guard let app = activity.app else { throw SegueError(.invalidState, "activity: was made without an app") }
    try handles.give(try app.push(activity, to: bundle, on: device, timeout: timeout), to: result)
  }
}

@_cdecl("segue_app_get_pushes") @implementation
public func segue_app_get_pushes(
  _ app: OpaquePointer?, _ after: Int64, _ timeout: UInt32, _ pushes: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  // 1 is no change either: it says who asks.
  ask(app, "pushes", timeout: timeout, isAtOnce: after == 0 || after == 1, pushes) { question in
    if after != 0 { question.add("after", .integer(after)) }
  }
}

@_cdecl("segue_app_answer_push") @implementation
public func segue_app_answer_push(
  _ app: OpaquePointer?, _ push: UnsafePointer<UInt8>?, _ accepts: Bool
) -> segue_status {
  ask(app, "answer-push") { (question) throws(SegueError) in
    question.add("push", .uuid(try Arguments.identifier(push, "push")))
    question.add("accepts", .bool(accepts))
    try question.addEnvironment()
  }
}
