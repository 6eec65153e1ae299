// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport
import Synchronization

/// The memory of the handle table: chunks of slots, each twice as large as the one before, that are never freed.
/// Looking up a slot takes no lock; allocating and freeing one does.
final class SlotStore: @unchecked Sendable {
  /// The address of the chunks' addresses, 0 before `start`. Not a property of the object, because a global that is not
  /// a constant would cost each call a check whether it is initialised.
  private static let chunks = Atomic<UInt>(0)
  private static let firstChunk: UInt = 64
  private static let chunkLimit: UInt = 18

  private let lock = Lock()
  /// Everything below is guarded by `lock`.
  private var chunkCount: UInt = 0
  private var used: UInt = 0
  private var capacity: UInt = 0
  private var firstFree: UInt = 0
  private var live = 0

  init() throws(SegueError) {
    // One more than there can be: it stays 0, and the highest junk index leads there.
    guard let memory = calloc(Int(Self.chunkLimit + 1), MemoryLayout<UInt>.stride) else { throw Self.outOfMemory }
    Self.chunks.store(UInt(bitPattern: memory), ordering: .releasing)
  }

  /// The slot with an index, nil if there is none. Only after `init`.
  @inline(__always)
  static func find(_ index: UInt) -> UnsafeMutablePointer<Slot>? {
    // The index has 24 bits: nothing here overflows.
    let position = index &+ firstChunk
    let chunk = UInt.bitWidth &- 1 &- position.leadingZeroBitCount &- firstChunk.trailingZeroBitCount
    let start = chunkAddress(UInt(bitPattern: chunk)).pointee.load(ordering: .acquiring)
    guard start != 0 else { return nil }
    let offset = position &- firstChunk &<< UInt(bitPattern: chunk)
    return UnsafeMutablePointer(bitPattern: start &+ offset &* UInt(Slot.size))
  }

  @inline(__always)
  private static func chunkAddress(_ chunk: UInt) -> UnsafeMutablePointer<Atomic<UInt>> {
    // Set before the first call gets here, and a multiple of 8.
    UnsafeMutablePointer(
      bitPattern: chunks.load(ordering: .acquiring) &+ chunk &* UInt(MemoryLayout<UInt>.stride)
    )
    .unsafelyUnwrapped
  }

  /// The number of objects that have a ticket.
  var liveCount: Int { lock.withLock { live } }

  func lockForFork() { lock.lock() }
  func unlockAfterFork() { lock.unlock() }

  /// Adds a count to an object's ticket, and creates the ticket if there is none.
  func issue(_ object: HandleObject, _ type: HandleType) throws(SegueError) -> Ticket {
    try lock.withLock { () throws(SegueError) in
      let former = Ticket(word: object.ticket)
      if former.word != 0, let slot = Self.find(former.index) {
        switch slot.pointee.retain(former.generation) {
        case .done: return former
        case .full: throw SegueError(.limitExceeded, "\(type.name): too many counts")
        default: break  // Its last count is gone, and it is about to be cleared: this is a new life.
        }
      }
      let index = try takeIndex()
      let slot = Self.find(index).unsafelyUnwrapped
      let generation = max(slot.pointee.generation, 1)
      slot.pointee.type = type.rawValue
      slot.pointee.object = Unmanaged.passRetained(object).toOpaque()
      let ticket = Ticket(type: type, index: index, generation: UInt(generation))
      object.ticket = ticket.word
      live += 1
      slot.pointee.publish(generation: generation)
      return ticket
    }
  }

  /// Clears a slot whose last pin or count is gone, and releases its object.
  func clear(_ ticket: Ticket) {
    guard let slot = SlotStore.find(ticket.index), let memory = slot.pointee.object else { return }
    // The end of an object may call the system and the host; that of a value, which is the hot case, does not.
    guard HandleType(rawValue: slot.pointee.type)?.worksInFork == false else { return clear(ticket, slot, memory) }
    let cancellation = Cancellation.disable()
    clear(ticket, slot, memory)
    Cancellation.restore(cancellation)
  }

  private func clear(_ ticket: Ticket, _ slot: UnsafeMutablePointer<Slot>, _ memory: UnsafeMutableRawPointer) {
    let unmanaged = Unmanaged<HandleObject>.fromOpaque(memory)
    let object = unmanaged.takeRetainedValue()
    lock.withLock {
      if object.ticket == ticket.word { object.ticket = 0 }
      slot.pointee.object = nil
      live -= 1
      // A slot whose generations are used up is never reused: 64 bytes for 16 million tickets.
      guard ticket.generation < Slot.lastGeneration else { return }
      slot.pointee.clear(nextGeneration: UInt64(ticket.generation) + 1)
      slot.pointee.nextFree = firstFree
      firstFree = ticket.index + 1
    }
    object.lastHandleReleased()
  }

  /// The last handle of an object was released while other calls use it. The caller has a pin.
  static func tellUnheld(_ slot: UnsafeMutablePointer<Slot>) {
    guard let memory = slot.pointee.object else { return }
    let cancellation = Cancellation.disable()
    Unmanaged<HandleObject>.fromOpaque(memory)._withUnsafeGuaranteedRef { $0.lastHandleReleasedInUse() }
    Cancellation.restore(cancellation)
  }

  private func takeIndex() throws(SegueError) -> UInt {
    if firstFree != 0 {
      let index = firstFree - 1
      firstFree = Self.find(index).unsafelyUnwrapped.pointee.nextFree
      return index
    }
    if used == capacity { try addChunk() }
    used += 1
    return used - 1
  }

  private func addChunk() throws(SegueError) {
    guard chunkCount < Self.chunkLimit else { throw SegueError(.limitExceeded, "too many handles are alive") }
    let count = Self.firstChunk << chunkCount
    // Allocates one slot more than needed, to begin at a cache line.
    guard let memory = calloc(Int(count + 1), Slot.size) else { throw Self.outOfMemory }
    let line = UInt(Slot.size)
    let start = (UInt(bitPattern: memory) + line - 1) / line * line
    Self.chunkAddress(chunkCount).pointee.store(start, ordering: .releasing)
    chunkCount += 1
    capacity += count
  }

  /// `ProcessState` makes it, while there is memory. No lazy constant: a child of a fork would wait for ever for the
  /// thread that was making that.
  nonisolated(unsafe) private static var prepared: SegueError?
  static func prepareOutOfMemory() { if prepared == nil { prepared = SegueError(.system, "out of memory") } }
  static var outOfMemory: SegueError { prepared ?? SegueError(.system, "out of memory") }
}
