// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import Testing

private let ready: UInt64 = 1

extension OneAtATime {
  /// Callbacks as dynamic languages make them, and what may be called inside of one.
  @Suite final class CallbackTests {
    private let library = SharedLibrary.shared
    private let folder = FileManager.default.temporaryDirectory.appending(path: "segue-abi-\(UUID().uuidString)")
    private let before = SharedLibrary.shared.liveHandles

    init() throws {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func made(_ function: String, _ arguments: Argument...) throws -> UInt {
      var handle: UInt = 0
      let status = withUnsafeMutablePointer(to: &handle) { library.status(function, arguments + [.pointer($0)]) }
      try #require(status == ok, "\(function): \(library.lastMessage)")
      return handle
    }

    private func withText<Result>(_ text: String, _ body: (Argument) throws -> Result) rethrows -> Result {
      try text.withCString { try body(.pointer(UnsafeRawPointer($0))) }
    }

    private func app() throws -> UInt {
      let app = try withText("com.example.callbacks") { try made("segue_app_create", $0, .int(-1)) }
      let status = withText(folder.path) { library.status("segue_app_set_runtime_folder", .handle(app), $0, .int(-1)) }
      try #require(status == ok)
      return app
    }

    /// Dispatches until the condition holds; the time limit is for failures only.
    private func dispatch(_ app: UInt, until condition: () -> Bool) {
      let deadline = Date(timeIntervalSinceNow: 30)
      while !condition(), Date() < deadline {
        #expect(library.status("segue_app_dispatch", .handle(app), .int(1000), .null) == ok)
      }
      #expect(condition(), "nothing came")
    }

    @Test func `a callback may call anything but close and dispatch`() throws {
      let app = try app()
      var calls: [Int32] = []
      let destroyed = Counter()
      let destroy = Callback("segue_destroy") { _ in
        destroyed.count += 1
        return 0
      }
      let connection = Callback("segue_connection_function") { [library] arguments in
        #expect(arguments[1] == UInt64(app), "one object has one handle for life")
        guard arguments[2] == ready, calls.isEmpty else { return 0 }
        calls.append(library.status("segue_app_close", .handle(app)))
        calls.append(library.status("segue_app_dispatch", .handle(app), .int(0), .null))
        calls.append(library.status("segue_retain", .handle(app)))
        calls.append(library.status("segue_release", .handle(app)))
        calls.append(library.status("segue_app_set_foreground", .handle(app), .int(1)))
        calls.append(library.status("segue_app_wake", .handle(app)))
        return 0
      }
      let delegate = try made("segue_app_delegate_create", .null, .pointer(destroy.code))
      #expect(library.status("segue_app_delegate_on_connection", .handle(delegate), .pointer(connection.code)) == ok)
      #expect(library.status("segue_app_set_delegate", .handle(app), .handle(delegate)) == ok)
      #expect(library.status("segue_app_open", .handle(app)) == ok)
      dispatch(app) { !calls.isEmpty }
      #expect(calls == [busy, busy, ok, ok, ok, ok])

      #expect(library.status("segue_release", .handle(delegate)) == ok)
      #expect(destroyed.count == 1)
      #expect(library.status("segue_app_close", .handle(app)) == ok)
      #expect(library.status("segue_app_close", .handle(app)) == ok)
      #expect(library.status("segue_release", .handle(app)) == ok)
      #expect(library.status("segue_app_close", .handle(app)) == invalidHandle)
      #expect(destroyed.count == 1)
      #expect(library.liveHandles == before)
      withExtendedLifetime((connection, destroy)) {}
    }

    @Test func `the last release inside a callback closes the app when that has returned`() throws {
      let app = try app()
      var calls: [Int32] = []
      let connection = Callback("segue_connection_function") { [library] _ in
        calls.append(library.status("segue_release", .handle(app)))
        return 0
      }
      let delegate = try made("segue_app_delegate_create", .null, .null)
      #expect(library.status("segue_app_delegate_on_connection", .handle(delegate), .pointer(connection.code)) == ok)
      #expect(library.status("segue_app_set_delegate", .handle(app), .handle(delegate)) == ok)
      #expect(library.status("segue_app_open", .handle(app)) == ok)
      while library.status("segue_app_dispatch", .handle(app), .int(1_000), .null) == ok {}
      #expect(calls == [ok])
      #expect(library.status("segue_app_close", .handle(app)) == invalidHandle)
      #expect(library.status("segue_release", .handle(delegate)) == ok)
      #expect(library.liveHandles == before)
      withExtendedLifetime(connection) {}
    }

    /// R1.15
    @Test func `a delegate released inside its own callback is destroyed after it, once`() throws {
      let app = try app()
      let destroyed = Counter()
      var inside: [Int] = []
      var delegate: UInt = 0
      let destroy = Callback("segue_destroy") { _ in
        destroyed.count += 1
        return 0
      }
      let connection = Callback("segue_connection_function") { [library] _ in
        #expect(
          library.status("segue_release", .handle(delegate)) == (inside.isEmpty ? ok : invalidHandle))
        inside.append(destroyed.count)
        return 0
      }
      delegate = try made("segue_app_delegate_create", .null, .pointer(destroy.code))
      #expect(library.status("segue_app_delegate_on_connection", .handle(delegate), .pointer(connection.code)) == ok)
      #expect(library.status("segue_app_set_delegate", .handle(app), .handle(delegate)) == ok)
      #expect(library.status("segue_app_open", .handle(app)) == ok)
      dispatch(app) { !inside.isEmpty }
      #expect(inside == [0])
      #expect(destroyed.count == 1)
      #expect(library.status("segue_release", .handle(app)) == ok)
      #expect(destroyed.count == 1)
      #expect(library.liveHandles == before)
      withExtendedLifetime((connection, destroy)) {}
    }

    /// No reply of a will_save is a failed one, and any other callback has answered no.
    @Test(.enabled(if: SharedLibrary.shared.hasFleet, "the library of apps has no fleet"))
    func `a number that is no reply is an error of the callback, which the log names`() throws {
      var lines: [String] = []
      let log = Callback("segue_log_function") { arguments in
        lines.append(String(cString: UnsafePointer<CChar>(bitPattern: UInt(arguments[2]))!))
        return 0
      }
      #expect(library.status("segue_log_set", .int(1), .pointer(log.code), .null, .null) == ok)
      let fleet = try made("segue_fleet_create", .int(7))
      let device = try withText("phone") { try made("segue_fleet_add_device", .handle(fleet), $0, .int(-1)) }
      let apps = try ["com.example.replies", "com.example.replies"].map { name in
        let app = try withText(name) { try made("segue_fleet_device_create_app", .handle(device), $0, .int(-1)) }
        let status = withText("com.example.type") {
          library.status("segue_app_add_activity_type", .handle(app), $0, .int(-1))
        }
        try #require(status == ok)
        return app
      }
      var saved: UInt64 = 7
      let willSave = Callback("segue_will_save_function") { _ in saved }
      var outcomes: [Int32] = []
      let ended = Callback("segue_receipt_function") { [library] arguments in
        var outcome: Int32 = 0
        withUnsafeMutablePointer(to: &outcome) {
          #expect(library.status("segue_receipt_get_outcome", .word(arguments[2]), .pointer($0)) == ok)
        }
        outcomes.append(outcome)
        return 0
      }
      let willResumeBack = Callback("segue_will_resume_back_function") { _ in 7 }
      let keeper = try made("segue_activity_delegate_create", .null, .null)
      for (name, callback) in [
        ("will_save", willSave), ("continuation_ended", ended), ("will_resume_back", willResumeBack),
      ] {
        let status = library.status(
          "segue_activity_delegate_on_\(name)", .handle(keeper), .pointer(callback.code))
        #expect(status == ok)
      }
      var continued: UInt64 = 7
      var kept: UInt = 0
      let onContinue = Callback("segue_continue_function") { [library] arguments in
        guard continued == 1 else { return continued }
        kept = UInt(arguments[2])
        #expect(library.status("segue_retain", .handle(kept)) == ok)
        return continued
      }
      let delegate = try made("segue_app_delegate_create", .null, .null)
      #expect(
        library.status("segue_app_delegate_on_continue", .handle(delegate), .pointer(onContinue.code)) == ok)
      #expect(library.status("segue_app_set_delegate", .handle(apps[1]), .handle(delegate)) == ok)
      for app in apps { #expect(library.status("segue_app_open", .handle(app)) == ok) }
      let activity = try withText("com.example.type") {
        try made("segue_activity_create", .handle(apps[0]), $0, .int(-1))
      }
      #expect(library.status("segue_activity_set_delegate", .handle(activity), .handle(keeper)) == ok)
      #expect(library.status("segue_activity_become_current", .handle(activity)) == ok)

      func run() { #expect(library.status("segue_fleet_run", .handle(fleet), .null) == ok) }
      func proceed() throws {
        run()
        var offer: UInt = 0
        var count = 0
        let status = withUnsafeMutablePointer(to: &offer) { offer in
          withUnsafeMutablePointer(to: &count) { count in
            library.status("segue_app_get_offers", .handle(apps[1]), .pointer(offer), .int(1), .pointer(count))
          }
        }
        try #require(status == ok && count == 1)
        #expect(library.status("segue_app_continue", .handle(apps[1]), .handle(offer), .int(0), .null) == ok)
        #expect(library.status("segue_release", .handle(offer)) == ok)
        run()
      }
      func named(_ callback: String) -> Bool { lines.contains("\(callback) gave 7, which is no segue_reply") }

      try proceed()
      #expect(outcomes == [3] && named("will_save") && !named("continue"), "\(lines)")
      saved = 1
      try proceed()
      #expect(outcomes == [3, 2] && named("continue"), "\(lines)")
      continued = 1
      try proceed()
      #expect(outcomes == [3, 2, 1])
      var declined: Int32 = 0
      let resumed = Callback("segue_resume_back_function") { [library] arguments in
        withUnsafeMutablePointer(to: &declined) {
          #expect(library.status("segue_error_get_status", .word(arguments[3]), .pointer($0)) == ok)
        }
        return 0
      }
      let asked = library.status(
        "segue_activity_resume_back", .handle(activity), .int(0), .pointer(resumed.code), .null, .null, .null)
      #expect(asked == ok)
      run()
      #expect(declined == 16 && named("will_resume_back"), "\(lines)")

      #expect(library.status("segue_log_set", .int(1), .null, .null, .null) == ok)
      for handle in [kept, activity, apps[0], apps[1], delegate, keeper, device, fleet] {
        #expect(library.status("segue_release", .handle(handle)) == ok)
      }
      #expect(library.liveHandles == before)
      withExtendedLifetime((log, willSave, ended, willResumeBack, onContinue, resumed)) {}
    }

    @Test func `a call that fails is the last one that has failed, whatever destroy does`() {
      let destroy = Callback("segue_destroy") { [library] _ in
        #expect(library.status("segue_value_get_kind", .null, .null) != ok)
        return 0
      }
      #expect(library.status("segue_restorable_create", .null, .null, .pointer(destroy.code), .null) == 1)
      #expect(library.lastMessage == "restorable: is NULL")
      withExtendedLifetime(destroy) {}
    }

    @Test func `the log's context is destroyed when it is replaced`() {
      let destroyed = Counter()
      var lines = 0
      let destroy = Callback("segue_destroy") { _ in
        destroyed.count += 1
        return 0
      }
      let log = Callback("segue_log_function") { _ in
        lines += 1
        return 0
      }
      let set = { [library] (level: Int32, function: Argument) in
        library.status("segue_log_set", .int(level), function, .null, .pointer(destroy.code))
      }
      #expect(set(3, .pointer(log.code)) == ok)
      #expect(destroyed.count == 0)
      #expect(set(3, .pointer(log.code)) == ok)
      #expect(destroyed.count == 1)
      #expect(set(1, .null) == ok)
      #expect(destroyed.count == 3, "the former one, and the context of no function")
      #expect(set(9, .pointer(log.code)) == 1)
      #expect(destroyed.count == 4)
      withExtendedLifetime((log, destroy)) {}
    }
  }
}

private final class Counter {
  var count = 0
}
