// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CFFI
import Foundation

/// An argument as it is passed: 8 bytes, of which the type in the signature table takes what it needs.
enum Argument {
  case word(UInt64)
  case double(Double)
  case pointer(UnsafeRawPointer?)

  static func int(_ value: some BinaryInteger) -> Argument { .word(UInt64(truncatingIfNeeded: value)) }
  static func handle(_ value: UInt) -> Argument { .pointer(UnsafeRawPointer(bitPattern: value)) }
  static var null: Argument { .pointer(nil) }

  var bits: UInt64 {
    switch self {
    case .word(let word): word
    case .double(let value): value.bitPattern
    case .pointer(let pointer): UInt64(UInt(bitPattern: pointer))
    }
  }
}

/// libsegue.so.0 as it ships, or libsegue-fleet.so.0 if SEGUE_LIBRARY names that, called the way dynamic languages do:
/// through libffi, from the signature table.
struct SharedLibrary: @unchecked Sendable {
  static let shared = SharedLibrary()

  private let library: UnsafeMutableRawPointer

  private init() {
    let fallback = SignatureTable.root.appending(path: "lib/libsegue.so.0").path
    let path = ProcessInfo.processInfo.environment["SEGUE_LIBRARY"] ?? fallback
    guard let library = dlopen(path, RTLD_NOW | RTLD_LOCAL) else {
      fatalError("\(String(cString: dlerror())): make lib, or set SEGUE_LIBRARY")
    }
    self.library = library
  }

  var hasFleet: Bool { has("segue_fleet_create") }
  func has(_ name: String) -> Bool { dlsym(library, name) != nil }

  /// Calls a function; the result's bits, widened to 8 bytes.
  @discardableResult
  func call(_ name: String, _ arguments: Argument...) -> UInt64 { call(name, arguments) }

  @discardableResult
  func call(_ name: String, _ arguments: [Argument]) -> UInt64 {
    guard let function = SignatureTable.shared.function(name), let symbol = dlsym(library, name) else {
      fatalError("\(name) is not in the table or not in the library")
    }
    precondition(arguments.count == function.parameters.count, "\(name) takes \(function.parameters.count) arguments")
    var bits = arguments.map(\.bits)
    var result: UInt64 = 0
    var types: [UnsafeMutablePointer<ffi_type>?] = function.parameters.map { FFIType.named($0.type) }
    bits.withUnsafeMutableBufferPointer { bits in
      types.withUnsafeMutableBufferPointer { types in
        var places = bits.indices.map { UnsafeMutableRawPointer?(bits.baseAddress! + $0) }
        var cif = ffi_cif()
        let status = cffi_prepare(&cif, UInt32(types.count), FFIType.named(function.returns), types.baseAddress)
        precondition(status == FFI_OK)
        cffi_call(&cif, symbol, &result, &places)
      }
    }
    return result
  }

  /// Calls a function that gives a segue_status.
  @discardableResult
  func status(_ name: String, _ arguments: Argument...) -> Int32 { status(name, arguments) }

  @discardableResult
  func status(_ name: String, _ arguments: [Argument]) -> Int32 { Int32(truncatingIfNeeded: call(name, arguments)) }

  /// The message of this thread's last failing call.
  var lastMessage: String {
    let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: 512)
    defer { buffer.deallocate() }
    buffer[0] = 0
    status("segue_last_error", .pointer(buffer), .int(512))
    return String(cString: buffer)
  }

  var liveHandles: Int {
    var count = -1
    withUnsafeMutablePointer(to: &count) { _ = status("segue_debug_live_handles", .pointer($0)) }
    return count
  }
}

/// Types of the signature table as libffi knows them.
enum FFIType {
  static func named(_ name: String) -> UnsafeMutablePointer<ffi_type> {
    switch name {
    case "void": cffi_void()
    case "bool": cffi_uint8()
    case "int32": cffi_sint32()
    case "uint32": cffi_uint32()
    case "int64": cffi_sint64()
    case "uint64", "size": cffi_uint64()
    case "double": cffi_double()
    case "pointer", "function": cffi_pointer()
    default: fatalError("no such type: \(name)")
    }
  }
}
