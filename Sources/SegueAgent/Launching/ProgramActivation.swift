// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import CSystemd
import SegueEngine
import SegueModel
import SegueSystem

/// The start of an app by the session's bus, in the place of its command: `DBusActivatable` in its desktop entry says
/// that it has a service there (Desktop Entry Specification, "D-Bus Activation").
struct ProgramActivation {
  /// Milliseconds for the bus to start the service: less than the system has for executing a program.
  private static let time: Int64 = 2_000

  /// The name of the service, its object, and what lets its window come up: two texts, empty without a click.
  private let words: CStrings

  /// Nil if the app has no such service, or the user no bus.
  init?(_ program: Program) {
    guard let name = program.command.busName,
      ProgramScope.hasBus(
        address: Environment.variable("DBUS_SESSION_BUS_ADDRESS"),
        runtimeFolder: Environment.variable("XDG_RUNTIME_DIR"))
    else { return nil }
    func value(_ variable: String) -> String {
      program.environment.first { Text.isSame($0.name, variable) }?.value ?? ""
    }
    words = CStrings([name, Self.object(of: name), value("XDG_ACTIVATION_TOKEN"), value("DESKTOP_STARTUP_ID")])
  }

  /// The object of an app: its name with slashes in the place of dots, and underscores in that of hyphens.
  static func object(of name: String) -> String {
    var path = [UInt8(ascii: "/")]
    for byte in name.utf8 {
      path.append(byte == UInt8(ascii: ".") ? UInt8(ascii: "/") : byte == UInt8(ascii: "-") ? UInt8(ascii: "_") : byte)
    }
    return Text.decoded(path)
  }

  /// In the child: has the bus start the service, and tells it that the user wants the app.
  /// - Returns: false if the bus refuses: it knows no such service.
  func begin() -> Bool {
    let functions = UnsafeMutablePointer<systemd>.allocate(capacity: 1)
    guard systemd_load(functions) != 0 else { return false }
    let table = functions.pointee
    guard let name = words.pointers[0], let object = words.pointers[1], let token = words.pointers[2],
      let startup = words.pointers[3]
    else { return false }
    let answer = UnsafeMutablePointer<Answer>.allocate(capacity: 1)
    answer.initialize(to: Answer(isRefusal: table.sd_bus_message_is_method_error))
    var bus: OpaquePointer?
    var (start, activate): (OpaquePointer?, OpaquePointer?)
    let (service, path) = ("org.freedesktop.DBus", "/org/freedesktop/DBus")
    guard table.sd_bus_open_user(&bus) >= 0, let bus,
      table.sd_bus_message_new_method_call(bus, &start, service, path, service, "StartServiceByName") >= 0,
      let start, systemd_append_name(functions, start, name) >= 0,
      table.sd_bus_call_async(
        bus, nil, start, { message, answer, _ in Answer.came(message, answer) }, answer, UInt64(Self.time) * 1000) >= 0,
      Self.await(answer, bus, table)
    else { return false }
    guard
      table.sd_bus_message_new_method_call(bus, &activate, name, object, "org.freedesktop.Application", "Activate")
        >= 0, let activate, systemd_append_click(functions, activate, token, startup) >= 0,
      table.sd_bus_send(bus, activate, nil) >= 0
    else { return false }
    return table.sd_bus_flush(bus) >= 0
  }

  /// Waits until the bus has started the service. One that takes longer is on its way.
  /// - Returns: false if the bus refuses, or does not answer.
  private static func await(_ answer: UnsafeMutablePointer<Answer>, _ bus: OpaquePointer, _ table: systemd) -> Bool {
    let deadline = Clock.uptime + time
    while case .awaited = answer.pointee.state {
      let left = deadline - Clock.uptime
      guard left > 0 else { return table.sd_bus_is_ready(bus) > 0 }
      let count = table.sd_bus_process(bus, nil)
      if count < 0 { return false }
      if count == 0 {
        let result = table.sd_bus_wait(bus, UInt64(left) * 1000)
        guard result >= 0 || result == -EINTR else { return false }
      }
    }
    if case .refused = answer.pointee.state { return false }
    return true
  }
}

/// The answer of the bus.
private struct Answer {
  enum State {
    case awaited
    case started
    case refused
  }

  let isRefusal: @convention(c) (OpaquePointer, UnsafePointer<CChar>?) -> Int32
  var state = State.awaited

  init(isRefusal: @escaping @convention(c) (OpaquePointer, UnsafePointer<CChar>?) -> Int32) {
    self.isRefusal = isRefusal
  }

  static func came(_ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let answer = context?.assumingMemoryBound(to: Answer.self), let message else { return 0 }
    answer.pointee.state = answer.pointee.isRefusal(message, nil) != 0 ? .refused : .started
    return 0
  }
}
