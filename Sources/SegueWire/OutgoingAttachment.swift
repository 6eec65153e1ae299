// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The origin's end of the stream of an attachment (R7.6), without I/O: says which bytes of the file are read next, and
/// what becomes of them. The head goes before.
public struct OutgoingAttachment {
  /// Bytes of the file.
  public struct Piece: Equatable {
    public let position: UInt64
    public let count: Int
    /// Whether they are sent. Otherwise the other side has them, and they count only for the digest.
    public let isSent: Bool
  }

  private let size: UInt64
  private let offset: UInt64
  private let pieceSize: UInt64
  private var position: UInt64
  private var isShort = false

  /// - Parameters:
  ///   - size: of the file.
  ///   - offset: the bytes that the other side has.
  ///   - pieceSize: the most bytes of a piece.
  ///   - knowsDigest: whether the digest of the whole file is known.
  public init(size: UInt64, from offset: UInt64, pieceSize: Int, knowsDigest: Bool) {
    self.size = size
    self.offset = offset
    self.pieceSize = UInt64(pieceSize)
    position = knowsDigest ? offset : 0
  }

  /// The next piece; nil: the end follows.
  public var next: Piece? {
    guard position < size, !isShort else { return nil }
    let end = position < offset ? min(offset, size) : size
    return Piece(
      position: position, count: Int(min(pieceSize, end - position)), isSent: position >= offset)
  }

  /// So many bytes of the next piece were read: fewer if the file has become shorter.
  public mutating func took(_ count: Int) {
    position += UInt64(count)
    if count == 0 { isShort = true }
  }

  /// Whether all of the file was read.
  public var isWhole: Bool { position == size }
}
