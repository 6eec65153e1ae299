// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSegue
import Foundation
import SegueApp
import SegueModel
import SegueRuntime
import Synchronization
import Testing

@testable import SegueABI

/// Counts what happens to the objects of a test.
private final class Ledger: Sendable {
  let released = Atomic<Int>(0)
  let destroyed = Atomic<Int>(0)
  let unheld = Atomic<Int>(0)
}

private class Witness: HandleObject {
  let ledger: Ledger
  init(_ ledger: Ledger) { self.ledger = ledger }
  override func lastHandleReleased() { ledger.released.add(1, ordering: .relaxed) }
  override func lastHandleReleasedInUse() { ledger.unheld.add(1, ordering: .relaxed) }
  deinit { ledger.destroyed.add(1, ordering: .relaxed) }
}

private let kind = HandleKind<Witness>(.save)
private let otherKind = HandleKind<SharedBox<Int>>(.offer)

private func make(_ ledger: Ledger = Ledger()) throws -> OpaquePointer {
  try #require(attempt {} == SEGUE_OK)
  return try #require(try handles.make(Witness(ledger), kind))
}

private func use(_ pointer: OpaquePointer?) -> segue_status { handles.call(pointer, kind) { _ in } }

private func lastMessage() -> String {
  var buffer = [CChar](repeating: 0, count: Int(SEGUE_MESSAGE_SIZE))
  _ = segue_last_error(&buffer, buffer.count)
  return buffer.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

@Suite(.serialized) struct HandleTests {
  @Test func `one object has one handle`() throws {
    let object = Witness(Ledger())
    try #require(attempt {} == SEGUE_OK)
    let first = try handles.make(object, kind)
    let second = try handles.make(object, kind)
    #expect(first == second)
    #expect(handles.release(first) == SEGUE_OK)
    #expect(use(second) == SEGUE_OK)
    #expect(handles.release(second) == SEGUE_OK)
    #expect(use(second) == SEGUE_ERROR_INVALID_HANDLE)
  }

  @Test func `the last release lets go of the object, once`() throws {
    let ledger = Ledger()
    let pointer = try make(ledger)
    #expect(handles.retain(pointer) == SEGUE_OK)
    #expect(handles.release(pointer) == SEGUE_OK)
    #expect(ledger.released.load(ordering: .relaxed) == 0)
    #expect(handles.release(pointer) == SEGUE_OK)
    #expect(handles.release(pointer) == SEGUE_ERROR_INVALID_HANDLE)
    #expect(lastMessage() == "segue_save: was released, or never was a handle")
    #expect(handles.retain(pointer) == SEGUE_ERROR_INVALID_HANDLE)
    #expect(ledger.released.load(ordering: .relaxed) == 1)
    #expect(ledger.destroyed.load(ordering: .relaxed) == 1)
  }

  @Test func `NULL is no handle, and may be released`() {
    #expect(use(nil) == SEGUE_ERROR_INVALID_HANDLE)
    #expect(lastMessage() == "segue_save: is NULL")
    #expect(handles.retain(nil) == SEGUE_ERROR_INVALID_HANDLE)
    #expect(handles.release(nil) == SEGUE_OK)
  }

  @Test func `an object that is released during a call stays until the call ends`() throws {
    let ledger = Ledger()
    let pointer = try make(ledger)
    let status = handles.call(pointer, kind) { object in
      #expect(handles.release(pointer) == SEGUE_OK)
      #expect(handles.release(pointer) == SEGUE_ERROR_INVALID_HANDLE)
      #expect(handles.retain(pointer) == SEGUE_ERROR_INVALID_HANDLE)
      #expect(use(pointer) == SEGUE_ERROR_INVALID_HANDLE)
      #expect(object.ledger.destroyed.load(ordering: .relaxed) == 0)
      #expect(ledger.released.load(ordering: .relaxed) == 0)
    }
    #expect(status == SEGUE_OK)
    #expect(ledger.released.load(ordering: .relaxed) == 1)
    #expect(ledger.destroyed.load(ordering: .relaxed) == 1)
  }

  @Test func `an object whose last handle goes while calls use it is told at once, and only then`() throws {
    let ledger = Ledger()
    let pointer = try make(ledger)
    #expect(handles.retain(pointer) == SEGUE_OK)
    _ = handles.call(pointer, kind) { _ in
      #expect(handles.release(pointer) == SEGUE_OK)
      #expect(ledger.unheld.load(ordering: .relaxed) == 0)
      #expect(handles.release(pointer) == SEGUE_OK)
      #expect(ledger.unheld.load(ordering: .relaxed) == 1)
      #expect(ledger.released.load(ordering: .relaxed) == 0)
    }
    #expect(ledger.unheld.load(ordering: .relaxed) == 1 && ledger.released.load(ordering: .relaxed) == 1)
    let idle = Ledger()
    #expect(handles.release(try make(idle)) == SEGUE_OK)
    #expect(idle.unheld.load(ordering: .relaxed) == 0 && idle.released.load(ordering: .relaxed) == 1)
  }

  @Test func `a handle of another type is named`() throws {
    let pointer = try make()
    #expect(handles.call(pointer, otherKind) { _ in } == SEGUE_ERROR_INVALID_HANDLE)
    #expect(lastMessage() == "segue_offer: is a segue_save")
    #expect(handles.release(pointer) == SEGUE_OK)
  }

  @Test func `a stale handle does not reach the object that has the slot now`() throws {
    let stale = try make()
    #expect(handles.release(stale) == SEGUE_OK)
    let fresh = try make()
    #expect(Ticket(stale)?.index == Ticket(fresh)?.index)
    #expect(use(stale) == SEGUE_ERROR_INVALID_HANDLE)
    #expect(use(fresh) == SEGUE_OK)
    #expect(handles.release(fresh) == SEGUE_OK)
  }

  @Test func `junk is no handle`() throws {
    let pointer = try make()
    var random = SystemRandomNumberGenerator()
    let word = UInt(bitPattern: pointer)
    let tag = (word >> 56) << 56
    var junk: [UInt] = [1, .max, tag, tag | 0xFF_FFFF_FFFF_FFFF]
    junk += (0..<64).map { word ^ 1 << $0 }
    junk += (0..<20_000).map { _ in random.next() }
    junk += (0..<20_000).map { _ in tag | random.next() >> 8 }
    for word in junk { #expect(use(OpaquePointer(bitPattern: word)) == SEGUE_ERROR_INVALID_HANDLE) }
    #expect(handles.release(pointer) == SEGUE_OK)
  }

  @Test func `a handle lent to a callback ends with it unless it was retained`() throws {
    try #require(attempt {} == SEGUE_OK)
    let ledger = Ledger()
    var kept: OpaquePointer?
    #expect(handles.lend(Witness(ledger), kind) { use($0) } == SEGUE_OK)
    #expect(ledger.destroyed.load(ordering: .relaxed) == 1)
    handles.lend(Witness(ledger), kind) { pointer in
      kept = pointer
      #expect(handles.retain(pointer) == SEGUE_OK)
    }
    #expect(ledger.destroyed.load(ordering: .relaxed) == 1)
    #expect(handles.release(kept) == SEGUE_OK)
    #expect(ledger.destroyed.load(ordering: .relaxed) == 2)
  }

  @Test func `counts do not overflow`() throws {
    let pointer = try make()
    let ticket = try #require(Ticket(pointer))
    let slot = try #require(SlotStore.find(ticket.index))
    var status = SEGUE_OK
    for _ in 1..<0xFF_FFFF {
      guard case .done = slot.pointee.retain(ticket.generation) else {
        status = SEGUE_ERROR_INVALID_STATE
        break
      }
    }
    #expect(status == SEGUE_OK)
    #expect(handles.retain(pointer) == SEGUE_ERROR_LIMIT_EXCEEDED)
    slot.pointee.publish(generation: UInt64(ticket.generation))
    #expect(handles.release(pointer) == SEGUE_OK)
  }

  @Test func `a slot whose generations are used up is not used again`() throws {
    let first = try make()
    let index = try #require(Ticket(first)?.index)
    #expect(handles.release(first) == SEGUE_OK)
    let slot = try #require(SlotStore.find(index))
    slot.pointee.clear(nextGeneration: Slot.lastGeneration)
    let last = try make()
    #expect(Ticket(last)?.index == index)
    #expect(use(last) == SEGUE_OK)
    #expect(handles.release(last) == SEGUE_OK)
    #expect(use(last) == SEGUE_ERROR_INVALID_HANDLE)
    let next = try make()
    #expect(Ticket(next)?.index != index)
    #expect(handles.release(next) == SEGUE_OK)
  }

  @Test func `ten thousand handles are ten thousand objects`() throws {
    let ledger = Ledger()
    let pointers = try (0..<10_000).map { _ in try make(ledger) }
    #expect(Set(pointers).count == 10_000)
    #expect(pointers.allSatisfy { use($0) == SEGUE_OK })
    #expect(pointers.allSatisfy { handles.release($0) == SEGUE_OK })
    #expect(ledger.destroyed.load(ordering: .relaxed) == 10_000)
    #expect(ProcessState.slots?.liveCount == 0)
  }

  /// Four threads make, use, retain and release handles in common slots, also one too often. SEGUE_SOAK_SECONDS makes
  /// it last longer.
  @Test func `threads do not disturb each other`() throws {
    try #require(attempt {} == SEGUE_OK)
    let seconds = ProcessInfo.processInfo.environment["SEGUE_SOAK_SECONDS"].flatMap(Double.init) ?? 1
    let end = Date(timeIntervalSinceNow: seconds)
    let ledger = Ledger()
    let board = Board()
    let made = Atomic<Int>(0)
    let threadCount = 4
    let done = DispatchSemaphore(value: 0)
    for _ in 0..<threadCount {
      Foundation.Thread {
        var random = SystemRandomNumberGenerator()
        while Date() < end {
          for _ in 0..<100 {
            let place = Int.random(in: 0..<Board.size, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1:
              guard let pointer = try? handles.make(Witness(ledger), kind) else { break }
              made.add(1, ordering: .relaxed)
              // The count that stood there is ours now: others may use it meanwhile, and find it gone.
              if let former = board.exchange(place, pointer) { _ = handles.release(former) }
            case 2:
              let pointer = board.peek(place)
              if let pointer, handles.retain(pointer) == SEGUE_OK {
                #expect(use(pointer) == SEGUE_OK)
                #expect(handles.release(pointer) == SEGUE_OK)
              }
            default:
              let pointer = board.peek(place)
              _ = handles.call(pointer, kind) { object in
                #expect(object.ledger === ledger)
                #expect(use(board.peek(place)) != SEGUE_ERROR_INVALID_ARGUMENT)
              }
            }
          }
        }
        done.signal()
      }.start()
    }
    for _ in 0..<threadCount { done.wait() }
    for place in 0..<Board.size { _ = handles.release(board.exchange(place, nil)) }
    #expect(made.load(ordering: .relaxed) > 0)
    #expect(ledger.released.load(ordering: .relaxed) == made.load(ordering: .relaxed))
    #expect(ledger.destroyed.load(ordering: .relaxed) == made.load(ordering: .relaxed))
    #expect(ProcessState.slots?.liveCount == 0)
  }
}

/// A few handles that threads exchange, each holding a count.
private final class Board: @unchecked Sendable {
  static let size = 8
  /// ThreadSanitizer sees this lock; Swift's `Mutex` it does not.
  private let lock = NSLock()
  private var places = [UInt](repeating: 0, count: Board.size)

  func peek(_ place: Int) -> OpaquePointer? { OpaquePointer(bitPattern: lock.withLock { places[place] }) }

  func exchange(_ place: Int, _ pointer: OpaquePointer?) -> OpaquePointer? {
    OpaquePointer(
      bitPattern: lock.withLock {
        defer { places[place] = UInt(bitPattern: pointer) }
        return places[place]
      })
  }
}
