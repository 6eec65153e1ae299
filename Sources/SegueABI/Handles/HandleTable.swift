// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSegue
import SegueApp
import SegueModel
import SegueRuntime
import SegueTransport

/// All handles of the process: docs/decisions/tickets-not-addresses.md. The exported functions use it like this:
///
///     handles.call(activity, .activity) { (activity) throws(SegueError) in try activity.setTitle(…) }
public let handles = HandleTable()

public struct HandleTable: Sendable {
  /// Runs the body of an exported function: checks the process, keeps the object in place while `body` runs, and turns
  /// an error into a status and this thread's last error. The thread is not cancelled meanwhile. Compiled once: a copy
  /// in each function would make the library a tenth larger.
  @inline(never)
  public func call<Object>(
    _ pointer: OpaquePointer?, _ kind: HandleKind<Object>, _ body: (Object) throws(SegueError) -> Void
  ) -> segue_status {
    attempt(evenInFork: kind.type.worksInFork) { () throws(SegueError) in try use(pointer, kind, body) }
  }

  /// Does the same, inlined into the caller, for functions where a few nanoseconds count: `body` calls neither the
  /// system nor the host, so it is no cancellation point, or it disables cancellation where it does.
  @inline(__always)
  func callAtOnce<Object>(
    _ pointer: OpaquePointer?, _ kind: HandleKind<Object>, _ body: (Object) throws(SegueError) -> Void
  ) -> segue_status {
    attemptAtOnce(evenInFork: kind.type.worksInFork) { () throws(SegueError) in try use(pointer, kind, body) }
  }

  /// Does the same for an object that allows one call at a time: BUSY while another call has it. All functions of such
  /// a type use this, and its release is `releaseAlone`.
  @inline(__always)
  func callAlone<Object>(
    _ pointer: OpaquePointer?, _ kind: HandleKind<Object>, _ body: (Object) throws(SegueError) -> Void
  ) -> segue_status {
    attemptAtOnce(evenInFork: kind.type.worksInFork) { () throws(SegueError) in
      let (slot, memory) = try take(pointer, kind.type)
      defer { slot.pointee.giveBack() }
      try borrow(memory, body)
    }
  }

  /// Takes a count of a handle of such an object.
  private func releaseAlone(_ pointer: OpaquePointer, _ type: HandleType) -> segue_status {
    attemptAtOnce(evenInFork: type.worksInFork) { () throws(SegueError) in
      // A retain by another thread may be what clears the slot: not before this has given the object back.
      let (slot, ticket) = try pin(pointer, type)
      defer { unpin(slot, ticket) }
      _ = try take(pointer, type)
      _ = slot.pointee.release(ticket.generation)
      slot.pointee.giveBack()
    }
  }

  @inline(__always)
  private func take(
    _ pointer: OpaquePointer?, _ type: HandleType
  ) throws(SegueError) -> (slot: UnsafeMutablePointer<Slot>, object: UnsafeMutableRawPointer) {
    guard let pointer, let ticket = Ticket(pointer), ticket.type == type.rawValue,
      let slot = SlotStore.find(ticket.index)
    else { throw problem(pointer, type) }
    switch slot.pointee.take(ticket.generation) {
    case .done: break
    case .busy: throw SegueError(.busy, "\(type.name): another thread is in a call with it")
    default: throw problem(pointer, type)
    }
    guard slot.pointee.type == type.rawValue, let memory = slot.pointee.object else {
      slot.pointee.giveBack()
      throw problem(pointer, type)
    }
    return (slot, memory)
  }

  /// Does the same for a call from a signal handler: takes no lock, allocates nothing, and leaves no message, since the
  /// thread may be writing or reading its last one. The caller must hold the handle until this returns.
  func callQuietly<Object>(
    _ pointer: OpaquePointer?, _ kind: HandleKind<Object>, _ body: (Object) -> Void
  ) -> segue_status {
    guard ProcessState.isReady else { return ProcessState.isForked ? SEGUE_ERROR_FORKED : SEGUE_ERROR_INVALID_HANDLE }
    // Safe in a signal handler with glibc.
    let cancellation = Cancellation.disable()
    defer { Cancellation.restore(cancellation) }
    guard let pointer, let ticket = Ticket(pointer), ticket.type == kind.type.rawValue,
      let slot = SlotStore.find(ticket.index), case .done = slot.pointee.pin(ticket.generation)
    else { return SEGUE_ERROR_INVALID_HANDLE }
    defer { unpin(slot, ticket) }
    guard slot.pointee.type == kind.type.rawValue, let memory = slot.pointee.object else {
      return SEGUE_ERROR_INVALID_HANDLE
    }
    Unmanaged<Object>.fromOpaque(memory)._withUnsafeGuaranteedRef(body)
    return SEGUE_OK
  }

  /// Uses a further handle, inside `call`.
  @inline(__always)
  public func use<Object, Result>(
    _ pointer: OpaquePointer?, _ kind: HandleKind<Object>, _ body: (Object) throws(SegueError) -> Result
  ) throws(SegueError) -> Result {
    let (slot, ticket) = try pin(pointer, kind.type)
    defer { unpin(slot, ticket) }
    guard let memory = slot.pointee.object else { throw problem(pointer, kind.type) }
    return try borrow(memory, body)
  }

  /// Keeps the object of a handle in place until `unpin`.
  @inline(__always)
  private func pin(
    _ pointer: OpaquePointer?, _ type: HandleType
  ) throws(SegueError) -> (slot: UnsafeMutablePointer<Slot>, ticket: Ticket) {
    guard let pointer, let ticket = Ticket(pointer), ticket.type == type.rawValue,
      let slot = SlotStore.find(ticket.index), case .done = slot.pointee.pin(ticket.generation)
    else { throw problem(pointer, type) }
    guard slot.pointee.type == type.rawValue else {
      unpin(slot, ticket)
      throw problem(pointer, type)
    }
    return (slot, ticket)
  }

  /// Does the same for a handle that may be NULL: `body` then gets nil.
  @inline(__always)
  public func use<Object, Result>(
    optional pointer: OpaquePointer?, _ kind: HandleKind<Object>, _ body: (Object?) throws(SegueError) -> Result
  ) throws(SegueError) -> Result {
    guard let pointer else { return try body(nil) }
    return try use(pointer, kind) { (object) throws(SegueError) in try body(object) }
  }

  /// Writes a handle of an object, with one more count, to an `out, owned` parameter. Does nothing if `out` is NULL.
  @inline(__always)
  public func give<Object>(
    _ object: Object, _ kind: HandleKind<Object>, to out: UnsafeMutablePointer<OpaquePointer?>?
  ) throws(SegueError) {
    try give(object, kind.type, to: out)
  }

  @inline(never)
  private func give(
    _ object: HandleObject, _ type: HandleType, to out: UnsafeMutablePointer<OpaquePointer?>?
  ) throws(SegueError) {
    if let out { out.pointee = try make(object, type) }
  }

  /// Returns a handle of an object, with one more count. The process has been checked.
  @inline(__always)
  func make<Object>(_ object: Object, _ kind: HandleKind<Object>) throws(SegueError) -> OpaquePointer? {
    try make(object, kind.type)
  }

  @inline(never)
  private func make(_ object: HandleObject, _ type: HandleType) throws(SegueError) -> OpaquePointer? {
    guard let slots = ProcessState.slots else { throw SlotStore.outOfMemory }
    return try slots.issue(object, type).pointer
  }

  /// Lends a handle to a callback, with a count until that returns. Nil, without a call, if there is no memory for a
  /// handle.
  @inline(__always)
  func lend<Object, Result>(
    _ object: Object, _ kind: HandleKind<Object>, _ body: (OpaquePointer) -> Result
  ) -> Result? {
    guard let pointer = lent(object, kind.type) else { return nil }
    defer { _ = release(pointer, kind.type) }
    return body(pointer)
  }

  @inline(never)
  private func lent(_ object: HandleObject, _ type: HandleType) -> OpaquePointer? { try? make(object, type) }

  /// Implements segue_retain.
  public func retain(_ pointer: OpaquePointer?) -> segue_status {
    guard let pointer, let type = HandleType(of: pointer) else { return invalid(pointer) }
    return attemptAtOnce(evenInFork: type.worksInFork) { () throws(SegueError) in
      // The pin guarantees the slot and the type, but a release may happen in between.
      let (slot, ticket) = try pin(pointer, type)
      defer { unpin(slot, ticket) }
      switch slot.pointee.retain(ticket.generation) {
      case .full: throw SegueError(.limitExceeded, "\(type.name): too many counts of the handle")
      case .invalid: throw problem(pointer, type)
      default: break
      }
    }
  }

  /// Implements segue_release.
  public func release(_ pointer: OpaquePointer?) -> segue_status {
    guard let pointer else { return SEGUE_OK }
    guard let type = HandleType(of: pointer) else { return invalid(pointer) }
    return type.isUsedAlone ? releaseAlone(pointer, type) : release(pointer, type)
  }

  private func invalid(_ pointer: OpaquePointer?) -> segue_status {
    attemptAtOnce { () throws(SegueError) in
      throw SegueError(.invalidHandle, "handle: \(pointer == nil ? "is NULL" : "never was one")")
    }
  }

  /// Takes a count of a handle of a type; NULL is fine.
  @inline(never)
  func release(_ pointer: OpaquePointer?, _ type: HandleType) -> segue_status {
    attemptAtOnce(evenInFork: type.worksInFork) { () throws(SegueError) in
      guard pointer != nil else { return }
      // The object must stay until the count is taken, or the slot might have been reused.
      let (slot, ticket) = try pin(pointer, type)
      defer { unpin(slot, ticket) }
      // The pin remains, so this is never the last step.
      switch slot.pointee.release(ticket.generation) {
      case .invalid: throw problem(pointer, type)
      case .unheld: SlotStore.tellUnheld(slot)
      default: break
      }
    }
  }

  /// Passes the object of a slot that is pinned or taken, which keeps it alive: retaining it as well would double the
  /// cost of a call.
  @inline(__always)
  private func borrow<Object, Result>(
    _ memory: UnsafeMutableRawPointer, _ body: (Object) throws(SegueError) -> Result
  ) throws(SegueError) -> Result where Object: HandleObject {
    let result = Unmanaged<Object>.fromOpaque(memory)._withUnsafeGuaranteedRef { object in
      do throws(SegueError) {
        return Swift.Result<Result, SegueError>.success(try body(object))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  @inline(__always)
  private func unpin(_ slot: UnsafeMutablePointer<Slot>, _ ticket: Ticket) {
    if case .last = slot.pointee.unpin() { ProcessState.slots?.clear(ticket) }
  }

  /// Describes what is wrong with a handle.
  @inline(never)
  private func problem(_ pointer: OpaquePointer?, _ type: HandleType) -> SegueError {
    guard let pointer else { return SegueError(.invalidHandle, "\(type.name): is NULL") }
    if let ticket = Ticket(pointer), let other = HandleType(rawValue: ticket.type), other != type {
      return SegueError(.invalidHandle, "\(type.name): is a \(other.name)")
    }
    return SegueError(.invalidHandle, "\(type.name): was released, or never was a handle")
  }
}

/// Runs the body of an exported function without a handle: checks the process, and turns an error into a status and
/// this thread's last error. The thread is not cancelled meanwhile.
@inline(__always)
public func attempt(evenInFork: Bool = false, _ body: () throws(SegueError) -> Void) -> segue_status {
  let cancellation = Cancellation.disable()
  defer { Cancellation.restore(cancellation) }
  return attemptAtOnce(evenInFork: evenInFork, body)
}

/// Does the same for a `body` that calls neither the system nor the host, so that it is no cancellation point.
@inline(__always)
func attemptAtOnce(evenInFork: Bool = false, _ body: () throws(SegueError) -> Void) -> segue_status {
  do throws(SegueError) {
    try ProcessState.check(evenInFork: evenInFork)
    try body()
    return SEGUE_OK
  } catch {
    return LastError.set(error)
  }
}
