// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import Testing

/// The arguments of a good call, so that a test can spoil one of them: a live handle of each type that can be made
/// without a second app, and fitting values for the rest. A `Pair` lends the handles of the other types.
final class Fixture {
  let library = SharedLibrary.shared
  /// Its own, to be released.
  private var handles: [String: UInt] = [:]
  private let lent: [String: UInt]
  /// Bytes for one output: more than any of them needs.
  private static let room = 64
  /// Parameters that a function has at most.
  private static let most = 11
  /// Stands where nothing was written.
  private static let untouched: UInt8 = 0xA5
  /// A place for each output, by the position of its parameter.
  private let outputs = UnsafeMutableRawPointer.allocate(byteCount: room * most, alignment: 16)
  private var memory: [UnsafeMutableRawPointer] = []
  private(set) var destroyed = 0
  private lazy var destroy = Callback("segue_destroy") { [unowned self] _ in
    destroyed += 1
    return 0
  }
  private var callbacks: [String: Callback] = [:]

  init(lent: [String: UInt] = [:]) {
    self.lent = lent
    clearOutputs()
    make("segue_value", "segue_value_decode", [.pointer(bytes([0xA0])), .int(1)])
    make("segue_writer", "segue_writer_create", [])
    if let value = handles["segue_value"] { make("segue_reader", "segue_reader_create", [.handle(value)]) }
    make("segue_activity", "segue_activity_create", [.null, .pointer(text("com.example.type")), .int(-1)])
    make("segue_activity_delegate", "segue_activity_delegate_create", [.null, .null])
    make("segue_app", "segue_app_create", [.pointer(text("com.example.app")), .int(-1)])
    make("segue_app_delegate", "segue_app_delegate_create", [.null, .null])
    make("segue_restorable", "segue_restorable_create", [argument(for: "segue_restore_state_function"), .null, .null])
    if library.hasFleet { make("segue_fleet", "segue_fleet_create", [.int(1)]) }
    if let fleet = handles["segue_fleet"] {
      make("segue_fleet_device", "segue_fleet_add_device", [.handle(fleet), .pointer(text("phone")), .int(-1)])
    }
  }

  /// Releases everything.
  func end() {
    for handle in handles.values { library.status("segue_release", .handle(handle)) }
    handles = [:]
    memory.forEach { $0.deallocate() }
    memory = []
    outputs.deallocate()
  }

  func handle(_ type: String) -> UInt? { lent[type] ?? handles[type] }

  /// Fills the places of all outputs with the mark of what was not written.
  func clearOutputs() {
    outputs.initializeMemory(as: UInt8.self, repeating: Self.untouched, count: Self.room * Self.most)
  }

  /// Whether nothing was written since `clearOutputs`.
  var outputsAreUntouched: Bool {
    UnsafeRawBufferPointer(start: outputs, count: Self.room * Self.most).allSatisfy { $0 == Self.untouched }
  }

  /// The word that a successful call wrote as its output at that position. Nil: it wrote none.
  func output(_ index: Int) -> UInt? {
    let word = (outputs + index * Self.room).load(as: UInt.self)
    return word == UInt(0x0101_0101_0101_0101) * UInt(Self.untouched) ? nil : word
  }

  /// Releases and frees what a successful call gave.
  func takeBack(_ function: SignatureTable.Function) {
    for (index, parameter) in function.parameters.enumerated() where !parameter.isIn {
      guard let given = output(index), given != 0 else { continue }
      switch parameter.role {
      case "handle": #expect(library.status("segue_release", .handle(given)) == ok)
      case "string": library.call("segue_free", .handle(given))
      case "data" where parameter.size == nil: library.call("segue_free", .handle(given))
      default: break
      }
    }
  }

  /// A handle that was valid once.
  func stale(_ type: String) -> UInt? {
    switch type {
    case "segue_value": made("segue_value_decode", [.pointer(bytes([0xF6])), .int(1)]).map { released($0) }
    case "segue_writer": made("segue_writer_create", []).map { released($0) }
    case "segue_reader":
      handles["segue_value"].flatMap { made("segue_reader_create", [.handle($0)]) }.map { released($0) }
    case "segue_activity":
      made("segue_activity_create", [.null, .pointer(text("com.example.type")), .int(-1)]).map { released($0) }
    case "segue_app":
      made("segue_app_create", [.pointer(text("com.example.app")), .int(-1)]).map { released($0) }
    case "segue_fleet": made("segue_fleet_create", [.int(1)]).map { released($0) }
    case "segue_fleet_device":
      // The device is of a fleet of its own: two devices of one fleet have two names. The fleet goes with the device.
      made("segue_fleet_create", [.int(1)])
        .flatMap { fleet in
          defer { library.status("segue_release", .handle(fleet)) }
          return made("segue_fleet_add_device", [.handle(fleet), .pointer(text("stale")), .int(-1)])
        }
        .map { released($0) }
    case "segue_restorable":
      made("segue_restorable_create", [argument(for: "segue_restore_state_function"), .null, .null])
        .map { released($0) }
    case "segue_activity_delegate", "segue_app_delegate":
      made("\(type)_create", [.null, .null]).map { released($0) }
    default: nil
    }
  }

  /// A live handle of another type.
  func foreign(to type: String) -> UInt? {
    ["segue_value", "segue_writer", "segue_app"].first { $0 != type && handles[$0] != nil }.flatMap { handles[$0] }
  }

  /// Arguments with which the call is a good one, as far as that can be without a second app: nil for a handle that
  /// there is none of.
  func arguments(_ function: SignatureTable.Function) -> [Argument]? {
    var found: [Argument] = []
    for (index, parameter) in function.parameters.enumerated() {
      guard let argument = argument(parameter, of: function, at: index) else { return nil }
      found.append(argument)
    }
    return found
  }

  private func argument(
    _ parameter: SignatureTable.Parameter, of function: SignatureTable.Function, at index: Int
  ) -> Argument? {
    switch (parameter.role, parameter.isIn) {
    case ("handle", true): return handle(parameter.handle ?? "").map { .handle($0) }
    case ("string", true): return .pointer(text(goodText(parameter, function)))
    case ("data", true):
      return .pointer(bytes(parameter.size == nil ? [0xA0] : [UInt8](repeating: 7, count: 16)))
    case ("length", true):
      return .int(function.parameters.contains { $0.name == parameter.of && $0.role == "data" } ? 1 : -1)
    case ("callback", _): return argument(for: parameter.callback ?? "")
    case ("context", _), ("memory", _): return .null
    case ("handles", true): return .pointer(outputs)  // none of them
    case ("value", true) where parameter.type == "double": return .double(1)
    case ("value", true) where parameter.name == "timeout_ms": return .int(0)
    case ("value", true): return .int(parameter.name == "count" || parameter.name == "capacity" ? 0 : 1)
    default: return .pointer(outputs + index * Self.room)
    }
  }

  private func goodText(_ parameter: SignatureTable.Parameter, _ function: SignatureTable.Function) -> String {
    if function.name.hasPrefix("segue_document"), parameter.name == "url" { return "file:///a" }
    if parameter.name == "folder" { return "/nowhere" }
    return parameter.name == "url" ? "https://example.com/" : "com.example.text"
  }

  /// A callback of that type that does nothing and answers 0.
  private func argument(for type: String) -> Argument {
    if type == "segue_destroy" { return .pointer(destroy.code) }
    let callback = callbacks[type] ?? Callback(type) { _ in 0 }
    callbacks[type] = callback
    return .pointer(callback.code)
  }

  func text(_ string: String) -> UnsafeRawPointer { bytes(Array(string.utf8) + [0]) }

  /// Bytes that live as long as the fixture.
  func bytes(_ content: [UInt8]) -> UnsafeRawPointer {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: max(content.count, 1), alignment: 1)
    copy.copyMemory(from: content, byteCount: content.count)
    memory.append(copy)
    return UnsafeRawPointer(copy)
  }

  private func make(_ type: String, _ function: String, _ arguments: [Argument]) {
    if let handle = made(function, arguments) { handles[type] = handle }
  }

  /// The handle that a function gives in its last parameter.
  private func made(_ function: String, _ arguments: [Argument]) -> UInt? {
    var handle: UInt = 0
    let status = withUnsafeMutablePointer(to: &handle) { library.status(function, arguments + [.pointer($0)]) }
    #expect(status == 0, "\(function): \(library.lastMessage)")
    return status == 0 ? handle : nil
  }

  private func released(_ handle: UInt) -> UInt {
    #expect(library.status("segue_release", .handle(handle)) == 0)
    return handle
  }
}
