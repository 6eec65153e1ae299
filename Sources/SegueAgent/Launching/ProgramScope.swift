// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import CSystemd
import SegueModel
import SegueSystem
import SegueTransport

/// The unit of the user's systemd that a program gets: a transient scope, named as systemd asks desktops to
/// (https://systemd.io/DESKTOP_ENVIRONMENTS/). So the program is no part of the agent's unit, and portals can read its
/// desktop id.
struct ProgramScope {
  /// Milliseconds for systemd to answer: less than the system has for executing the program.
  static let time: Int64 = 2_000
  /// Bytes of a unit's name.
  private static let nameLimit = 255

  /// The unit: `app-segue-<desktop id>-<16 hexadecimal digits>.scope`.
  let name: String

  /// - Parameter random: 8 bytes, so that no two programs share a unit.
  init(desktopFile: String, random: [UInt8]) {
    var digits: [UInt8] = []
    for byte in random { Self.append(byte, to: &digits) }
    let (start, end) = ("app-segue-", String(joining: "-\(String(decoding: digits, as: UTF8.self)).scope"))
    let room = Self.nameLimit - start.utf8.count - end.utf8.count
    name = String(joining: "\(start)\(Self.escaped(desktopFile, atMost: room))\(end)")
  }

  /// The desktop id without its ending, as a part of a unit's name: a hyphen would begin the next part. An id that is
  /// too long is cut between characters.
  private static func escaped(_ desktopFile: String, atMost limit: Int) -> String {
    let ending = ".desktop"
    var id = Array(desktopFile.utf8)
    if id.count > ending.utf8.count, id.suffix(ending.utf8.count).elementsEqual(ending.utf8) {
      id.removeLast(ending.utf8.count)
    }
    var text: [UInt8] = []
    for byte in id {
      let isKept = isPlain(byte) && !(text.isEmpty && byte == UInt8(ascii: "."))
      guard text.count + (isKept ? 1 : 4) <= limit else { break }
      if isKept {
        text.append(byte)
      } else {
        text += [UInt8(ascii: "\\"), UInt8(ascii: "x")]
        append(byte, to: &text)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "_"), UInt8(ascii: "."):
      true
    default: false
    }
  }

  private static func append(_ byte: UInt8, to text: inout [UInt8]) {
    for half in [byte >> 4, byte & 15] { text.append(half < 10 ? 0x30 + half : 0x57 + half) }
  }

  /// Whether the user has a bus, looked for as `sd_bus_open_user` does. Without one libsystemd is not loaded, which
  /// takes 0.6 ms.
  /// - Parameters:
  ///   - address: DBUS_SESSION_BUS_ADDRESS.
  ///   - runtimeFolder: XDG_RUNTIME_DIR.
  static func hasBus(address: String?, runtimeFolder: String?) -> Bool {
    guard address == nil else { return true }
    guard let runtimeFolder else { return false }
    return access(String(joining: "\(runtimeFolder)/bus"), F_OK) == 0
  }

  // MARK: - In the child

  /// Has systemd move this process into the scope, and waits until that is done. If no systemd of the user answers
  /// within its time, the process stays where it is. Only for the child that becomes the program: connection and
  /// library go when it is executed.
  func enter() {
    let deadline = Clock.uptime + Self.time
    let functions = UnsafeMutablePointer<systemd>.allocate(capacity: 1)
    guard systemd_load(functions) != 0 else { return }
    let entry = UnsafeMutablePointer<Entry>.allocate(capacity: 1)
    entry.initialize(to: Entry(functions: UnsafePointer(functions), unit: strdup(name)))
    var bus: OpaquePointer?
    guard functions.pointee.sd_bus_open_user(&bus) >= 0, let bus, Self.ask(bus, entry) else { return }
    while !entry.pointee.isOver {
      let left = deadline - Clock.uptime
      guard left > 0 else { return }
      let count = functions.pointee.sd_bus_process(bus, nil)
      if count < 0 { return }
      if count == 0 {
        let result = functions.pointee.sd_bus_wait(bus, UInt64(left) * 1000)
        guard result >= 0 || result == -EINTR else { return }
      }
    }
  }

  /// Sends what asks for the scope. False if that is not possible.
  private static func ask(_ bus: OpaquePointer, _ entry: UnsafeMutablePointer<Entry>) -> Bool {
    let functions = entry.pointee.functions
    let (service, object) = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
    let interface = "org.freedesktop.systemd1.Manager"
    var message: OpaquePointer?
    guard
      functions.pointee.sd_bus_match_signal_async(
        bus, nil, service, object, interface, "JobRemoved",
        { message, entry, _ in Entry.jobRemoved(message, entry) }, nil, entry) >= 0,
      functions.pointee.sd_bus_message_new_method_call(
        bus, &message, service, object, interface, "StartTransientUnit") >= 0,
      let message, systemd_append_scope(functions, message, entry.pointee.unit, UInt32(getpid())) >= 0
    else { return false }
    return functions.pointee.sd_bus_call_async(
      bus, nil, message, { message, entry, _ in Entry.answered(message, entry) }, entry, UInt64(time) * 1000) >= 0
  }
}

/// A process on its way into a scope.
private struct Entry {
  let functions: UnsafePointer<systemd>
  let unit: UnsafeMutablePointer<CChar>
  /// Whether the process is in the scope, or stays where it is.
  var isOver = false

  init(functions: UnsafePointer<systemd>, unit: UnsafeMutablePointer<CChar>) {
    self.functions = functions
    self.unit = unit
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<Entry>? {
    context?.assumingMemoryBound(to: Entry.self)
  }

  /// The answer to the call: systemd has accepted the job, or refuses.
  static func answered(_ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let entry = of(context), let message else { return 0 }
    if entry.pointee.functions.pointee.sd_bus_message_is_method_error(message, nil) != 0 { entry.pointee.isOver = true }
    return 0
  }

  /// A job of systemd's is done, or has failed.
  static func jobRemoved(_ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let entry = of(context), let message else { return 0 }
    let read = entry.pointee.functions.pointee.sd_bus_message_read_basic
    var number: UInt32 = 0
    var (job, unit): (UnsafePointer<CChar>?, UnsafePointer<CChar>?) = (nil, nil)
    guard read(message, CChar(UInt8(ascii: "u")), &number) > 0, read(message, CChar(UInt8(ascii: "o")), &job) > 0,
      read(message, CChar(UInt8(ascii: "s")), &unit) > 0, let unit
    else { return 0 }
    if strcmp(unit, entry.pointee.unit) == 0 { entry.pointee.isOver = true }
    return 0
  }
}
