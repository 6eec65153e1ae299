// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The shortest of the three float forms of CBOR that holds a number exactly (RFC 8949 §4.2.1, §4.2.2).
enum FloatForm {
  /// The one NaN that values have, as half float.
  static let notANumber: UInt16 = 0x7e00
  /// Doubles represent integers up to this size exactly; dates that are such integers are written as integers.
  static let exactInteger = 9_007_199_254_740_992.0

  /// The half float that equals this number, or nil; nil for NaN.
  static func half(exactly number: Double) -> UInt16? {
    let bits = number.bitPattern
    let sign = UInt16(truncatingIfNeeded: bits >> 48) & 0x8000
    let magnitude = bits & 0x7fff_ffff_ffff_ffff
    if magnitude == 0 { return sign }
    if magnitude == 0x7ff0_0000_0000_0000 { return sign | 0x7c00 }
    let exponent = Int(magnitude >> 52) - 1023
    let fraction = magnitude & 0xf_ffff_ffff_ffff
    switch exponent {
    case -14...15:
      guard fraction & 0x3ff_ffff_ffff == 0 else { return nil }
      return sign | UInt16(exponent + 15) << 10 | UInt16(fraction >> 42)
    case -24 ... -15:
      let shift = UInt64(42 - 14 - exponent)
      let significand = fraction | 1 << 52
      guard significand & (1 << shift - 1) == 0 else { return nil }
      return sign | UInt16(significand >> shift)
    default:
      return nil
    }
  }

  /// The single float that equals this number, or nil; nil for NaN.
  @inline(__always)
  static func single(exactly number: Double) -> UInt32? {
    let single = Float(number)
    return Double(single) == number ? single.bitPattern : nil
  }

  static func number(half: UInt16) -> Double {
    let sign = UInt64(half & 0x8000) << 48
    let exponent = UInt64(half >> 10 & 0x1f)
    let fraction = UInt64(half & 0x3ff)
    switch exponent {
    case 0:
      let magnitude = Double(fraction) * 0x1p-24
      return Double(bitPattern: magnitude.bitPattern | sign)
    case 31: return Double(bitPattern: sign | 0x7ff0_0000_0000_0000 | fraction << 42)
    default: return Double(bitPattern: sign | (exponent + 1008) << 52 | fraction << 42)
    }
  }

  /// The number in a head of major type 7 that is a float of any size; every NaN becomes the same one.
  static func number(_ head: Head) -> Double { number(head.initial, head.argument) }

  static func number(_ initial: UInt8, _ argument: UInt64) -> Double {
    let number: Double =
      switch initial {
      case Head.Simple.half: number(half: UInt16(truncatingIfNeeded: argument))
      case Head.Simple.single: Double(Float(bitPattern: UInt32(truncatingIfNeeded: argument)))
      default: Double(bitPattern: argument)
      }
    return number.isNaN ? .nan : number
  }

  /// The seconds of a date, which is an integer that a double holds or a float.
  static func seconds(_ head: Head) -> Double {
    switch head.major {
    case Head.Major.unsigned: Double(head.argument)
    case Head.Major.negative: -1 - Double(head.argument)
    default: number(head)
    }
  }

  /// Writes the shortest form to `pointer`, which has room for 9 bytes, and returns the number of its bytes.
  static func write(_ number: Double, to pointer: UnsafeMutableRawPointer) -> Int {
    let behind = pointer + 1
    if number.isNaN || half(exactly: number) != nil {
      pointer.storeBytes(of: Head.Simple.half, as: UInt8.self)
      behind.storeBytes(of: (half(exactly: number) ?? notANumber).bigEndian, as: UInt16.self)
      return 3
    }
    if let single = single(exactly: number) {
      pointer.storeBytes(of: Head.Simple.single, as: UInt8.self)
      behind.storeBytes(of: single.bigEndian, as: UInt32.self)
      return 5
    }
    pointer.storeBytes(of: Head.Simple.double, as: UInt8.self)
    behind.storeBytes(of: number.bitPattern.bigEndian, as: UInt64.self)
    return 9
  }

  /// Whether a float head is in its one deterministic form.
  @inline(__always)
  static func isShortest(_ head: Head) -> Bool {
    switch head.initial {
    case Head.Simple.half:
      return head.argument & 0x7fff <= 0x7c00 || head.argument == UInt64(notANumber)
    case Head.Simple.single:
      let number = Double(Float(bitPattern: UInt32(truncatingIfNeeded: head.argument)))
      return !number.isNaN && half(exactly: number) == nil
    default:
      let number = Double(bitPattern: head.argument)
      return !number.isNaN && single(exactly: number) == nil
    }
  }
}
