// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The start of a CBOR item: its major type and its argument (RFC 8949 §3).
struct Head {
  /// Major types, in the upper three bits of the first byte.
  enum Major {
    static let unsigned: UInt8 = 0
    static let negative: UInt8 = 1
    static let data: UInt8 = 2
    static let text: UInt8 = 3
    static let array: UInt8 = 4
    static let map: UInt8 = 5
    static let tag: UInt8 = 6
    static let simple: UInt8 = 7
  }

  /// The tags: the registered ones of values, and our own.
  enum Tag {
    static let date: UInt64 = 1
    static let url: UInt64 = 32
    static let uuid: UInt64 = 37
    static let set: UInt64 = 258
    /// A reference to a file in a container, which no value holds: "Segu" in ASCII (docs/protocol.md).
    static let container: UInt64 = 0x5365_6775
  }

  /// First bytes of major type 7.
  enum Simple {
    static let no: UInt8 = 0xf4
    static let yes: UInt8 = 0xf5
    static let null: UInt8 = 0xf6
    static let half: UInt8 = 0xf9
    static let single: UInt8 = 0xfa
    static let double: UInt8 = 0xfb
    static let end: UInt8 = 0xff
  }

  /// Bytes of the longest head.
  static let longest = 9

  let initial: UInt8
  let argument: UInt64
  /// Bytes of this head.
  let size: Int

  var major: UInt8 { initial >> 5 }

  /// The argument of a head in a valid encoding. It fits: no valid encoding is larger than `Limits.value`.
  var count: Int { Int(truncatingIfNeeded: argument) }

  /// Reads a head of a valid encoding.
  @inline(__always)
  init(trusted pointer: UnsafeRawPointer) {
    initial = pointer.load(as: UInt8.self)
    let information = initial & 31
    if information < 24 {
      argument = UInt64(information)
      size = 1
      return
    }
    let behind = pointer + 1
    switch information {
    case 24:
      argument = UInt64(behind.load(as: UInt8.self))
      size = 2
    case 25:
      argument = UInt64(behind.loadUnaligned(as: UInt16.self).bigEndian)
      size = 3
    case 26:
      argument = UInt64(behind.loadUnaligned(as: UInt32.self).bigEndian)
      size = 5
    default:
      argument = behind.loadUnaligned(as: UInt64.self).bigEndian
      size = 9
    }
  }

  /// Reads a head of unchecked bytes: nil unless it is within the first `count` of them and states its argument.
  @inline(__always)
  init?(_ pointer: UnsafeRawPointer, upTo count: Int) {
    guard count > 0 else { return nil }
    let information = pointer.load(as: UInt8.self) & 31
    guard information < 24 || (information <= 27 && count > 1 << Int(information & 3)) else { return nil }
    self.init(trusted: pointer)
  }

  /// Bytes of the shortest head with this argument.
  static func size(of argument: UInt64) -> Int {
    if argument < 24 { return 1 }
    if argument <= 0xff { return 2 }
    if argument <= 0xffff { return 3 }
    return argument <= 0xffff_ffff ? 5 : 9
  }

  /// Writes the shortest head to `pointer`, which has room for it, and returns the number of its bytes.
  @inline(__always) @discardableResult
  static func write(_ major: UInt8, _ argument: UInt64, to pointer: UnsafeMutableRawPointer) -> Int {
    let type = major << 5
    if argument < 24 {
      pointer.storeBytes(of: type | UInt8(truncatingIfNeeded: argument), as: UInt8.self)
      return 1
    }
    let behind = pointer + 1
    if argument <= 0xff {
      pointer.storeBytes(of: type | 24, as: UInt8.self)
      behind.storeBytes(of: UInt8(truncatingIfNeeded: argument), as: UInt8.self)
      return 2
    }
    if argument <= 0xffff {
      pointer.storeBytes(of: type | 25, as: UInt8.self)
      behind.storeBytes(of: UInt16(truncatingIfNeeded: argument).bigEndian, as: UInt16.self)
      return 3
    }
    if argument <= 0xffff_ffff {
      pointer.storeBytes(of: type | 26, as: UInt8.self)
      behind.storeBytes(of: UInt32(truncatingIfNeeded: argument).bigEndian, as: UInt32.self)
      return 5
    }
    pointer.storeBytes(of: type | 27, as: UInt8.self)
    behind.storeBytes(of: argument.bigEndian, as: UInt64.self)
    return 9
  }

  /// Writes an integer to `pointer`, which has room for it, and returns the number of its bytes.
  @inline(__always) @discardableResult
  static func write(integer: Int64, to pointer: UnsafeMutableRawPointer) -> Int {
    // -1 - n, which is ~n, is the argument of a negative integer (RFC 8949 §3.1).
    integer < 0
      ? write(Major.negative, UInt64(bitPattern: ~integer), to: pointer)
      : write(Major.unsigned, UInt64(bitPattern: integer), to: pointer)
  }

  /// Writes a UUID with its tag to `pointer`, which has room for it, and returns the number of its bytes.
  static func write(uuid: Identifier, to pointer: UnsafeMutableRawPointer) -> Int {
    let tag = write(Major.tag, Tag.uuid, to: pointer)
    let head = write(Major.data, UInt64(Identifier.size), to: pointer + tag)
    uuid.write(to: pointer + tag + head)
    return tag + head + Identifier.size
  }

  /// The offset after the item that starts at `offset` of a valid encoding.
  static func skip(_ base: UnsafeRawPointer, from offset: Int) -> Int {
    var offset = offset
    var left = 1
    while left > 0 {
      let head = Head(trusted: base + offset)
      offset &+= head.size
      left &-= 1
      switch head.major {
      case Major.data, Major.text: offset &+= head.count
      case Major.array: left &+= head.count
      case Major.map: left &+= 2 &* head.count
      case Major.tag: left &+= 1
      default: break
      }
    }
    return offset
  }
}
