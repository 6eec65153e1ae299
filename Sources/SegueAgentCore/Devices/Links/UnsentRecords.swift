// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine

/// The ciphertext of a connection that its socket has not taken yet.
struct UnsentRecords {
  /// Bytes of ciphertext from which on the channel keeps a large buffer.
  private static let bulkSize = 8 * 1024
  /// Milliseconds for which that buffer is kept.
  private static let bulkTime: Int64 = 10_000

  /// The ciphertext that the channel gave last; unsent from `sent` on.
  private var bytes: [UInt8] = []
  private var sent = 0
  /// The uptime at which that many bytes were taken last; nil: no large buffer is kept.
  private var bulkAt: Int64?

  /// Whether nothing is to be sent.
  var isEmpty: Bool { bytes.isEmpty }

  /// Takes what a channel has encrypted, once all earlier ciphertext is sent.
  mutating func fill(from channel: SecureChannel, in environment: any AgentEnvironment) {
    guard sent == bytes.count else { return }
    sent = 0
    channel.takeOutput(into: &bytes)
    guard !bytes.isEmpty else { return trim(channel, environment) }
    if bytes.count >= Self.bulkSize { bulkAt = environment.uptime }
  }

  /// Passes what was not sent to `body`, which may look at this object.
  func withUnsent<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
  }

  /// So many bytes were sent.
  /// - Returns: whether that was all.
  mutating func remove(_ count: Int) -> Bool {
    sent += count
    return sent == bytes.count
  }

  /// Frees the room for much, here and in the channel, if a heartbeat or more has passed since.
  private mutating func trim(_ channel: SecureChannel, _ environment: any AgentEnvironment) {
    guard let at = bulkAt, environment.uptime - at >= Self.bulkTime else { return }
    bulkAt = nil
    bytes = []
    channel.takeOutput(into: &bytes)
    bytes = []
  }
}
