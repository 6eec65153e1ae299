// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CFFI
import Foundation

/// A C function made at run time from a signature of the table, as the callbacks of dynamic languages are.
final class Callback {
  /// The function to pass.
  let code: UnsafeRawPointer
  private let closure: UnsafeMutableRawPointer
  private let cif = UnsafeMutablePointer<ffi_cif>.allocate(capacity: 1)
  private let types: UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>
  private let body: ([UInt64]) -> UInt64
  private let signature: SignatureTable.Function

  /// `body` gets the arguments as 8 bytes each, and gives the result.
  init(_ name: String, _ body: @escaping ([UInt64]) -> UInt64) {
    guard let signature = SignatureTable.shared.callbacks.first(where: { $0.name == name }) else {
      fatalError("no such callback: \(name)")
    }
    self.signature = signature
    self.body = body
    types = .allocate(capacity: signature.parameters.count)
    for (index, parameter) in signature.parameters.enumerated() {
      (types + index).initialize(to: FFIType.named(parameter.type))
    }
    cif.initialize(to: ffi_cif())
    var code: UnsafeMutableRawPointer?
    closure = ffi_closure_alloc(MemoryLayout<ffi_closure>.size, &code)
    self.code = UnsafeRawPointer(code!)
    let count = UInt32(signature.parameters.count)
    precondition(cffi_prepare(cif, count, FFIType.named(signature.returns), types) == FFI_OK)
    let status = ffi_prep_closure_loc(
      closure.assumingMemoryBound(to: ffi_closure.self), cif,
      { _, result, arguments, context in
        let callback = Unmanaged<Callback>.fromOpaque(context!).takeUnretainedValue()
        let bits = callback.signature.parameters.enumerated().map { index, parameter in
          Callback.read(arguments![index]!, parameter.type)
        }
        let answer = callback.body(bits)
        if callback.signature.returns != "void" { result!.storeBytes(of: answer, as: UInt64.self) }
      }, Unmanaged.passUnretained(self).toOpaque(), code!)
    precondition(status == FFI_OK)
  }

  deinit {
    ffi_closure_free(closure)
    cif.deallocate()
    types.deallocate()
  }

  private static func read(_ place: UnsafeMutableRawPointer, _ type: String) -> UInt64 {
    switch type {
    case "bool": UInt64(place.load(as: UInt8.self))
    case "int32", "uint32": UInt64(place.load(as: UInt32.self))
    default: place.load(as: UInt64.self)
    }
  }
}
