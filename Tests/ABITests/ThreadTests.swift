// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import Testing

extension OneAtATime {
  /// Calls from several threads at a time, and calls that must not wait.
  @Suite struct ThreadTests {
    private static let count = 5_000
    private let library = SharedLibrary.shared

    private func made(_ function: String, _ arguments: Argument...) throws -> UInt {
      var handle: UInt = 0
      let status = withUnsafeMutablePointer(to: &handle) { library.status(function, arguments + [.pointer($0)]) }
      try #require(status == ok, "\(function): \(library.lastMessage)")
      return handle
    }

    /// Runs a body on two threads that begin together, and gives what each of them got.
    private func twice<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> [Result] {
      let results = Results<Result>()
      let both = DispatchGroup()
      for _ in 0..<2 {
        both.enter()
        Thread.detachNewThread {
          results.meet()
          results.add(body())
          both.leave()
        }
      }
      both.wait()
      return results.all
    }

    /// A value that holds an array of the numbers from 0.
    private func numbers() throws -> UInt {
      let writer = try made("segue_writer_create")
      try #require(library.status("segue_writer_begin", .handle(writer), .int(10)) == ok)
      for number in 0..<Self.count {
        try #require(library.status("segue_writer_put_int64", .handle(writer), .int(number)) == ok)
      }
      try #require(library.status("segue_writer_end", .handle(writer)) == ok)
      let value = try made("segue_writer_finish", .handle(writer))
      try #require(library.status("segue_release", .handle(writer)) == ok)
      return value
    }

    @Test func `two threads on one writer are told OK or BUSY, and nothing is lost`() throws {
      let before = library.liveHandles
      let writer = try made("segue_writer_create")
      #expect(library.status("segue_writer_begin", .handle(writer), .int(10)) == ok)
      let statuses = twice { [library] in
        (0..<Self.count).map { library.status("segue_writer_put_int64", .handle(writer), .int($0)) }
      }
      #expect(Set(statuses.joined()).isSubset(of: [ok, busy]))
      #expect(library.status("segue_writer_end", .handle(writer)) == ok)
      let value = try made("segue_writer_finish", .handle(writer))
      #expect(try made("segue_value_get_count", .handle(value)) == UInt(statuses.joined().count { $0 == ok }))
      for handle in [value, writer] {
        #expect(library.status("segue_release", .handle(handle)) == ok)
      }
      #expect(library.liveHandles == before)
    }

    @Test func `two threads on one reader are told OK or BUSY, and each item comes once`() throws {
      let before = library.liveHandles
      let value = try numbers()
      let reader = try made("segue_reader_create", .handle(value))
      let item = UnsafeMutableRawPointer.allocate(byteCount: 40, alignment: 8)
      defer { item.deallocate() }
      // The array itself.
      #expect(library.status("segue_reader_next", .handle(reader), .pointer(item), .null, .int(0)) == ok)
      let parts = twice { [library] in
        var found: [UInt64] = []
        var odd: [Int32] = []
        let item = UnsafeMutableRawPointer.allocate(byteCount: 40, alignment: 8)
        defer { item.deallocate() }
        while true {
          let status = library.status("segue_reader_next", .handle(reader), .pointer(item), .null, .int(0))
          if status == notFound { break }
          if status == ok, item.load(as: Int32.self) != 0 {
            found.append(item.load(fromByteOffset: 24, as: UInt64.self))
          } else if status != ok, status != busy {
            odd.append(status)
          }
        }
        return (found, odd)
      }
      #expect(parts.flatMap(\.1).isEmpty)
      #expect(parts.flatMap(\.0).sorted() == (0..<UInt64(Self.count)).map { $0 })
      for handle in [value, reader] {
        #expect(library.status("segue_release", .handle(handle)) == ok)
      }
      #expect(library.liveHandles == before)
    }

    /// A call that finds it released gets an error; it is released exactly once.
    @Test func `a writer that another thread releases is OK, BUSY or gone`() throws {
      let before = library.liveHandles
      for _ in 0..<200 {
        let writer = try made("segue_writer_create")
        let statuses = twice { [library] in
          (
            library.status("segue_writer_put_null", .handle(writer)),
            library.status("segue_release", .handle(writer))
          )
        }
        #expect(Set(statuses.map(\.0)).isSubset(of: [ok, busy, invalidState, invalidHandle]))
        #expect(Set(statuses.map(\.1)).isSubset(of: [ok, busy, invalidHandle]))
        let released = statuses.count { $0.1 == ok }
        #expect(released <= 1)
        if released == 0 { #expect(library.status("segue_release", .handle(writer)) == ok) }
        #expect(library.status("segue_release", .handle(writer)) == invalidHandle)
      }
      #expect(library.liveHandles == before)
    }

    /// A time that has passed between two looks at the clock must not become the "for ever" of a negative one.
    @Test func `dispatch without a time, or with one that has just passed, does not wait`() throws {
      let pair = try Pair()
      let app = try #require(pair.handles["segue_app"])
      // Ends a dispatch that waits for ever, which then is a failure.
      let alarm = DispatchSource.makeTimerSource()
      let late = Flag()
      alarm.setEventHandler { [library] in
        late.set()
        library.status("segue_app_wake", .handle(app))
      }
      alarm.schedule(deadline: .now() + 60)
      alarm.resume()
      for (timeout, times) in [(0, 50_000), (1, 500)] {
        for _ in 0..<times where !late.isSet {
          #expect(library.status("segue_app_dispatch", .handle(app), .int(timeout), .null) == ok)
        }
      }
      alarm.cancel()
      #expect(!late.isSet, "it waited")
      pair.end()
    }
  }
}

/// The results of threads, and the place at which they wait for each other.
private final class Results<Result>: @unchecked Sendable {
  private let condition = NSCondition()
  private var waiting = 0
  private(set) var all: [Result] = []

  /// Returns when two threads are here.
  func meet() {
    condition.lock()
    waiting += 1
    condition.broadcast()
    while waiting < 2 { condition.wait() }
    condition.unlock()
  }

  func add(_ result: Result) { condition.withLock { all.append(result) } }
}

/// Something that has happened.
private final class Flag: @unchecked Sendable {
  private let lock = NSLock()
  private var value = false

  var isSet: Bool { lock.withLock { value } }
  func set() { lock.withLock { value = true } }
}
