// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import Testing

/// Two apps in this process, one of which continues the other's activity, and what is left of that: a live handle of
/// each type that only callbacks and lists give. Each handle holds one count of the pair's.
final class Pair {
  static let title = "Shopping list"
  private static let yes: UInt64 = 1
  private static let later: UInt64 = 2
  static let restoredOutcome: Int32 = 1

  let library = SharedLibrary.shared
  private let folder = FileManager.default.temporaryDirectory.appending(path: "segue-abi-\(UUID().uuidString)")
  /// By type: of the app, the receiver; of the activity, the origin's.
  private(set) var handles: [String: UInt] = [:]
  private var origin: UInt = 0
  private var receiver: UInt { handles["segue_app"] ?? 0 }
  private var callbacks: [Callback] = []
  /// The handles that callbacks were lent, by type, retained or not.
  private(set) var lent: [String: UInt] = [:]
  private(set) var restored = 0
  /// Whether the receiver's question for a stream has been answered.
  private(set) var hasAnswer = false
  private var failures = 0
  private var otherDevice: Int32 = -1
  /// The reason with which the receiver declines, if it declines.
  private var reason: String?

  init() throws {
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    try makeOrigin()
    try makeReceiver()
    var count = 0
    dispatch { [library, receiver] in
      withUnsafeMutablePointer(to: &count) {
        _ = library.status("segue_app_get_offers", .handle(receiver), .null, .int(0), .pointer($0))
      }
      return count > 0
    }
    handles["segue_offer"] = try made { place in
      library.status("segue_app_get_offers", .handle(receiver), .pointer(place), .int(1), .pointer(scratch))
    }
    try beginAccess()
    try fail()
    try hand()
    try #require(Set(handles.keys).isSuperset(of: Self.given), "\(handles.keys.sorted())")
  }

  /// The types that no function makes without a second app, and the one that is handed to a continuation.
  static let given: Set = [
    "segue_save", "segue_receipt", "segue_offer", "segue_continuation", "segue_error", "segue_restorable",
    "segue_stream", "segue_request", "segue_transfer", "segue_link", "segue_access", "segue_responder",
    "segue_document", "segue_document_observer",
  ]

  func closeOrigin() { #expect(library.status("segue_app_close", .handle(origin)) == ok) }

  /// Releases everything, each handle once.
  func end() {
    for (type, handle) in handles.sorted(by: { $0.key > $1.key }) {
      #expect(library.status("segue_release", .handle(handle)) == ok, "\(type)")
    }
    #expect(library.status("segue_release", .handle(origin)) == ok)
    close(otherDevice)
    scratch.deallocate()
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: - Making

  private let scratch = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 16)

  private func made(_ body: (UnsafeMutablePointer<UInt>) -> Int32) throws -> UInt {
    var handle: UInt = 0
    try #require(body(&handle) == ok, "\(library.lastMessage)")
    return handle
  }

  private func made(_ function: String, _ arguments: Argument...) throws -> UInt {
    try made { library.status(function, arguments + [.pointer($0)]) }
  }

  private func with(_ text: String, _ body: (Argument) throws -> UInt) rethrows -> UInt {
    try text.withCString { try body(.pointer(UnsafeRawPointer($0))) }
  }

  private func set(_ function: String, _ handle: UInt, _ text: String) throws {
    let status = text.withCString {
      library.status(function, .handle(handle), .pointer(UnsafeRawPointer($0)), .int(-1))
    }
    try #require(status == ok, "\(function): \(library.lastMessage)")
  }

  /// `body` gets the arguments of the callback.
  private func on(_ function: String, _ type: String, _ delegate: UInt, _ body: @escaping ([UInt64]) -> UInt64) throws {
    let callback = Callback(type, body)
    callbacks.append(callback)
    try #require(library.status(function, .handle(delegate), .pointer(callback.code)) == ok)
  }

  /// Keeps a handle that a callback was lent.
  private func keep(_ type: String, _ handle: UInt64) {
    guard handles[type] == nil else { return }
    #expect(library.status("segue_retain", .word(handle)) == ok)
    handles[type] = UInt(handle)
  }

  private func app(_ identifier: String) throws -> UInt {
    let app = try with(identifier) { try made("segue_app_create", $0, .int(-1)) }
    try set("segue_app_set_team_identifier", app, "team")
    try set("segue_app_set_runtime_folder", app, folder.path)
    try set("segue_app_add_activity_type", app, "com.example.type")
    return app
  }

  private func makeOrigin() throws {
    origin = try app("com.example.origin")
    let delegate = try made("segue_activity_delegate_create", .null, .null)
    handles["segue_activity_delegate"] = delegate
    try on("segue_activity_delegate_on_will_save", "segue_will_save_function", delegate) { [unowned self] in
      // One is kept; whatever else the activity is saved for is answered at once.
      guard handles["segue_save"] == nil else { return Self.yes }
      keep("segue_save", $0[2])
      lent["segue_save"] = UInt($0[2])
      return Self.later
    }
    try on("segue_activity_delegate_on_continuation_ended", "segue_receipt_function", delegate) {
      [unowned self] arguments in
      // The receipt of the cancelled attempt may come at any time.
      var outcome: Int32 = 0
      withUnsafeMutablePointer(to: &outcome) {
        _ = library.status("segue_receipt_get_outcome", .word(arguments[2]), .pointer($0))
      }
      if outcome == Self.restoredOutcome { keep("segue_receipt", arguments[2]) }
      return 0
    }
    try on("segue_activity_delegate_on_did_receive_stream", "segue_did_receive_stream_function", delegate) {
      [unowned self] in
      keep("segue_stream", $0[2])
      return 0
    }
    // It is never answered.
    try on("segue_activity_delegate_on_request", "segue_request_function", delegate) { [unowned self] in
      keep("segue_request", $0[2])
      return 0
    }
    try #require(library.status("segue_app_open", .handle(origin)) == ok)
    let activity = try made("segue_activity_create", .handle(origin), .null, .int(0))
    handles["segue_activity"] = activity
    try set("segue_activity_set_title", activity, Self.title)
    try set("segue_activity_set_webpage_url", activity, "https://example.com/list")
    try #require(
      library.status("segue_activity_set_supports_continuation_streams", .handle(activity), .int(1)) == ok)
    try #require(library.status("segue_activity_set_delegate", .handle(activity), .handle(delegate)) == ok)
    try "attached".withCString { name in
      try #require(
        library.status(
          "segue_activity_attach_bytes", .handle(activity), .pointer(UnsafeRawPointer(name)), .int(-1),
          .pointer(UnsafeRawPointer(name)), .int(8)) == ok, "\(library.lastMessage)")
    }
    try #require(library.status("segue_activity_become_current", .handle(activity)) == ok)
  }

  /// Begins to fetch what the origin has attached.
  private func fetch(_ activity: UInt64, _ fetched: Callback) throws -> UInt {
    let descriptor = open("/dev/null", O_WRONLY)
    defer { close(descriptor) }
    return try with("attached") {
      try made(
        "segue_activity_fetch_attachment_to_fd", .word(activity), $0, .int(-1), .int(descriptor), .null,
        .pointer(fetched.code), .null, .null)
    }
  }

  private func makeReceiver() throws {
    let delegate = try made("segue_app_delegate_create", .null, .null)
    handles["segue_app_delegate"] = delegate
    // The local end of the stream is released when this returns.
    let answered = Callback("segue_stream_function") { [unowned self] _ in
      hasAnswer = true
      return 0
    }
    let responded = Callback("segue_response_function") { _ in 0 }
    let fetched = Callback("segue_fetched_function") { _ in 0 }
    callbacks += [answered, responded, fetched]
    try on("segue_app_delegate_on_will_continue", "segue_will_continue_function", delegate) {
      [unowned self] arguments in
      guard let reason else { return 0 }
      let status = reason.withCString {
        library.status(
          "segue_continuation_decline", .word(arguments[4]), .pointer(UnsafeRawPointer($0)), .int(reason.utf8.count))
      }
      #expect(status == ok, "\(library.lastMessage)")
      return 0
    }
    try on("segue_app_delegate_on_continue", "segue_continue_function", delegate) { [unowned self] arguments in
      lent["segue_activity"] = UInt(arguments[2])
      #expect(
        library.status(
          "segue_activity_ask_stream", .word(arguments[2]), .int(0), .pointer(answered.code), .null, .null) == ok)
      if handles["segue_transfer"] == nil {
        handles["segue_transfer"] = try? fetch(arguments[2], fetched)
      }
      var request: UInt = 0
      withUnsafeMutablePointer(to: &request) {
        let status = library.status(
          "segue_activity_request", .word(arguments[2]), .null, .int(0), .int(0), .pointer(responded.code), .null,
          .null, .pointer($0))
        #expect(status == ok, "\(library.lastMessage)")
      }
      #expect(library.status("segue_release", .handle(request)) == ok)
      withUnsafePointer(to: handles["segue_restorable"]) {
        let status = library.status("segue_continuation_restore", .word(arguments[3]), .pointer($0), .int(1))
        #expect(status == ok, "\(library.lastMessage)")
      }
      return Self.yes
    }
    try on("segue_app_delegate_on_did_fail", "segue_did_fail_function", delegate) { [unowned self] in
      keep("segue_error", $0[4])
      failures += 1
      return 0
    }
    let restore = Callback("segue_restore_state_function") { [unowned self] _ in
      restored += 1
      return 1
    }
    callbacks.append(restore)
    handles["segue_restorable"] = try made("segue_restorable_create", .pointer(restore.code), .null, .null)
    let receiver = try app("com.example.receiver")
    handles["segue_app"] = receiver
    try #require(library.status("segue_app_set_delegate", .handle(receiver), .handle(delegate)) == ok)
    try #require(library.status("segue_app_open", .handle(receiver)) == ok)
    // Nobody answers at the other end.
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    otherDevice = ends[1]
    handles["segue_link"] = try made(
      "segue_app_link", .handle(receiver), .int(ends[0]), .int(0), .null, .null, .null)
    handles["segue_responder"] = try made(
      "segue_responder_create", .handle(receiver), .null, .pointer(restore.code), .null, .null)
    handles["segue_document"] = try with("file:///a") { url in
      try with("text/plain") { type in
        try made(
          "segue_document_create", .handle(receiver), url, .int(-1), type, .int(-1), .int(1), .null,
          .pointer(restore.code), .null, .null)
      }
    }
    let changed = Callback("segue_activity_changed_function") { _ in 0 }
    callbacks.append(changed)
    handles["segue_document_observer"] = try made(
      "segue_document_observe", .handle(handles["segue_document"] ?? 0), .pointer(changed.code), .null, .null)
  }

  /// An open folder: its own, which is a container of the origin.
  private func beginAccess() throws {
    let path = folder.path(percentEncoded: false)
    let status = "com.example.files".withCString { identifier in
      path.withCString { path in
        library.status(
          "segue_app_add_container", .handle(origin), .pointer(UnsafeRawPointer(identifier)), .int(-1),
          .pointer(UnsafeRawPointer(path)), .int(-1))
      }
    }
    try #require(status == ok, "\(library.lastMessage)")
    handles["segue_access"] = try made { place in
      "file://\(path)".withCString { url in
        library.status(
          "segue_activity_access_begin", .handle(handles["segue_activity"] ?? 0), .pointer(UnsafeRawPointer(url)),
          .int(-1), .int(0), .pointer(place), .null)
      }
    }
  }

  // MARK: - Continuing

  private func begin() throws -> UInt {
    try made("segue_app_continue", .handle(receiver), .handle(handles["segue_offer"] ?? 0), .int(0))
  }

  /// A continuation that is cancelled, for its error.
  private func fail() throws {
    let continuation = try begin()
    try #require(library.status("segue_continuation_cancel", .handle(continuation)) == ok)
    dispatch { failures == 1 }
    try #require(library.status("segue_release", .handle(continuation)) == ok)
    // It may have asked for a save, or not; what follows is to have its own.
    if let save = handles.removeValue(forKey: "segue_save") {
      try #require(library.status("segue_release", .handle(save)) == ok)
    }
    try #require(
      library.status("segue_activity_set_needs_save", .handle(handles["segue_activity"] ?? 0), .int(1)) == ok)
  }

  /// A continuation that the receiver declines; `handles` then has its error, in place of the former one.
  func decline(_ reason: String) throws {
    self.reason = reason
    defer { self.reason = nil }
    let failed = failures
    if let former = handles.removeValue(forKey: "segue_error") {
      try #require(library.status("segue_release", .handle(former)) == ok)
    }
    let continuation = try begin()
    dispatch { failures > failed }
    try #require(library.status("segue_release", .handle(continuation)) == ok)
  }

  /// The whole way; the answer to will_save comes when that has returned.
  private func hand() throws {
    handles["segue_continuation"] = try begin()
    dispatch { handles["segue_save"] != nil }
    try #require(library.status("segue_save_complete", .handle(handles["segue_save"] ?? 0)) == ok)
    dispatch { restored == 1 && Self.given.isSubset(of: handles.keys) }
  }

  /// Waits for either app and runs its callbacks, until the condition holds; the time limit is for failures only.
  func dispatch(until condition: () -> Bool) {
    let deadline = Date(timeIntervalSinceNow: 30)
    var descriptors = [origin, receiver].map { app in
      var descriptor: Int32 = -1
      withUnsafeMutablePointer(to: &descriptor) { _ = library.status("segue_app_fd", .handle(app), .pointer($0)) }
      return pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    }
    while !condition(), Date() < deadline {
      poll(&descriptors, 2, 1000)
      for app in [origin, receiver] {
        #expect(library.status("segue_app_dispatch", .handle(app), .int(0), .null) == ok)
      }
    }
    #expect(condition(), "nothing came")
  }
}
