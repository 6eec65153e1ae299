// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The value of a handle: not an address, but the position of its object in the handle table.
///
/// From the top: tag (8 bits), type (8), index of the slot (24), generation of the slot (24). The tag makes the value
/// one that no 64-bit processor accepts as an address, so that dereferencing a handle fails at once. The generation
/// distinguishes a slot's former objects from its current one. The library for tests has a tag of its own, so that a
/// process that has both libraries gets an error for each handle that it takes to the wrong one.
struct Ticket {
  let word: UInt

  /// Constant once the library is loaded.
  nonisolated(unsafe) fileprivate static var tag: UInt = 0x5E

  init(type: HandleType, index: UInt, generation: UInt) {
    word = Self.tag << 56 | UInt(type.rawValue) << 48 | index << 24 | generation
  }

  /// Nil if it cannot be the value of any handle.
  @inline(__always)
  init?(_ pointer: OpaquePointer) {
    word = UInt(bitPattern: pointer)
    guard word >> 56 == Self.tag else { return nil }
  }

  init(word: UInt) { self.word = word }

  var pointer: OpaquePointer? { OpaquePointer(bitPattern: word) }
  var type: UInt8 { UInt8(truncatingIfNeeded: word >> 48) }
  var index: UInt { word >> 24 & 0xFF_FFFF }
  var generation: UInt { word & 0xFF_FFFF }
}

/// The library for tests is loaded, and has given no handle yet.
public func tagHandlesOfFleet() { Ticket.tag = 0x5F }
