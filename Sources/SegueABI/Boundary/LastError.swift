// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import CSegue
import SegueModel
import Synchronization

/// The last error of each thread.
enum LastError {
  /// The record of a thread: allocated at its first error, freed when the thread ends.
  private struct Record {
    var status: segue_status
    /// The number of bytes of the message, which follows the record in memory, without the NUL.
    var count: Int
  }

  private static let capacity = Int(SEGUE_MESSAGE_SIZE)
  /// The thread key plus one; 0 if there is none yet; -1 if the system has none left, so that errors have no message.
  private static let key = Atomic<Int>(0)

  /// Stores an error for this thread; returns its status.
  static func set(_ error: SegueError) -> segue_status {
    let status = error.status.rawValue
    guard let record = record(create: true) else { return status }
    record.pointee.status = status
    let bytes = UnsafeMutableRawPointer(record + 1).assumingMemoryBound(to: UInt8.self)
    let count = Text.withOneLine(error.message) { message in
      let count = Text.wholeCharacters(message, atMost: capacity - 1)
      if let start = message.baseAddress { memcpy(bytes, start, count) }
      return count
    }
    bytes[count] = 0
    record.pointee.count = count
    return status
  }

  /// Runs code of the host, whose own failing calls leave the last error of this thread as it was.
  static func preserving(_ body: () -> Void) {
    let size = MemoryLayout<Record>.stride + capacity
    withUnsafeTemporaryAllocation(byteCount: size, alignment: MemoryLayout<Record>.alignment) { copy in
      let before = record(create: false)
      if let before, let start = copy.baseAddress { memcpy(start, before, size) }
      body()
      guard let after = record(create: false) else { return }
      if before != nil, let start = copy.baseAddress {
        memcpy(after, start, size)
      } else {
        after.pointee = Record(status: SEGUE_OK, count: 0)
      }
    }
  }

  /// Copies the message, cut at a character, with a NUL; returns the status.
  static func copy(to buffer: UnsafeMutablePointer<CChar>?, capacity: Int) -> segue_status {
    let record = record(create: false)
    if let buffer, capacity > 0 {
      var count = 0
      if let record {
        let message = UnsafeRawBufferPointer(start: record + 1, count: record.pointee.count)
        count = Text.wholeCharacters(message, atMost: capacity - 1)
        memcpy(buffer, record + 1, count)
      }
      buffer[count] = 0
    }
    return record?.pointee.status ?? SEGUE_OK
  }

  private static func record(create: Bool) -> UnsafeMutablePointer<Record>? {
    guard let key = threadKey(create: create) else { return nil }
    if let memory = pthread_getspecific(key) { return memory.assumingMemoryBound(to: Record.self) }
    guard create, let memory = calloc(1, MemoryLayout<Record>.stride + capacity) else { return nil }
    guard pthread_setspecific(key, memory) == 0 else {
      free(memory)
      return nil
    }
    return memory.bindMemory(to: Record.self, capacity: 1)
  }

  private static func threadKey(create: Bool) -> pthread_key_t? {
    var known = key.load(ordering: .acquiring)
    if known == 0, create {
      var new = pthread_key_t()
      let word = pthread_key_create(&new, { free($0) }) == 0 ? Int(new) + 1 : -1
      let (isFirst, other) = key.compareExchange(expected: 0, desired: word, ordering: .acquiringAndReleasing)
      if !isFirst, word > 0 { pthread_key_delete(new) }
      known = isFirst ? word : other
    }
    return known > 0 ? pthread_key_t(known - 1) : nil
  }
}
