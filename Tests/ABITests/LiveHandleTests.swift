// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import Testing

extension OneAtATime {
  /// The objects that a handoff leaves behind are held to the same rules as those that an app makes by itself.
  @Suite struct LiveHandleTests {
    private static let functions = SignatureTable.shared.functions
    /// The functions that read one of the types that only a handoff gives.
    private static let getters = functions.filter {
      $0.name.contains("_get_") && Pair.given.contains($0.parameters.first?.handle ?? "")
    }

    private let library = SharedLibrary.shared

    /// The body gets a pair, and handles of each type that were valid once, in places that may be in use again.
    private func withPair(_ body: (_ pair: Pair, _ stale: [String: UInt]) throws -> Void) throws {
      let before = library.liveHandles
      let former = try Pair()
      let stale = former.handles
      former.end()
      #expect(library.liveHandles == before, "the first pair's are left")
      let pair = try Pair()
      try body(pair, stale)
      pair.end()
      #expect(library.liveHandles == before, "handles are left")
    }

    /// Calls a getter with a place of its own for each output, all but one, and frees what it gave.
    private func get(
      _ function: SignatureTable.Function, _ handle: UInt, without missing: Int? = nil,
      _ look: ([UnsafeMutableRawPointer]) -> Void = { _ in }
    ) -> Int32 {
      let places = function.parameters.map { _ in UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16) }
      defer { places.forEach { $0.deallocate() } }
      places.forEach { $0.initializeMemory(as: UInt8.self, repeating: 0, count: 16) }
      let arguments = function.parameters.indices.map { index -> Argument in
        index == 0 ? .handle(handle) : index == missing ? .null : .pointer(places[index])
      }
      let status = library.status(function.name, arguments)
      if status == ok { look(places) }
      for (index, parameter) in function.parameters.enumerated() where index > 0 && index != missing {
        let given = places[index].load(as: UInt.self)
        switch parameter.role {
        case "string": library.call("segue_free", .handle(given))
        case "handle" where given != 0:
          #expect(library.status("segue_release", .handle(given)) == ok)
        default: break
        }
      }
      return status
    }

    @Test func `every getter reads a live handle`() throws {
      try withPair { pair, _ in
        #expect(Self.getters.count >= 20)
        for function in Self.getters {
          let handle = try #require(pair.handles[function.parameters[0].handle ?? ""])
          let status = get(function, handle) { places in
            guard function.parameters[1].role == "string" else { return }
            let text = places[1].load(as: UnsafePointer<CChar>?.self)
            #expect((text.map(strlen) ?? 0) == places[2].load(as: Int.self), "\(function.name)")
          }
          #expect(status == ok, "\(function.name): \(library.lastMessage)")
        }
      }
    }

    @Test func `getters tell what happened`() throws {
      try withPair { pair, _ in
        var texts: [String: String] = [:]
        var numbers: [String: Int32] = [:]
        var ids: [String: [UInt8]] = [:]
        for function in Self.getters {
          _ = get(function, pair.handles[function.parameters[0].handle ?? ""] ?? 0) { places in
            let name = String(function.name.dropFirst("segue_".count))
            switch function.parameters[1].role {
            case "string": texts[name] = places[1].load(as: UnsafePointer<CChar>?.self).map { String(cString: $0) }
            case "data": ids[name] = (0..<16).map { places[1].load(fromByteOffset: $0, as: UInt8.self) }
            default: numbers[name] = places[1].load(as: Int32.self)
            }
          }
        }
        #expect(texts["offer_get_title"] == Pair.title)
        #expect(texts["offer_get_type"] == "com.example.type")
        #expect(texts["offer_get_bundle_identifier"] == "com.example.origin")
        #expect(texts["receipt_get_bundle_identifier"] == "com.example.receiver")
        #expect(texts["error_get_message"]?.isEmpty == false)
        #expect(numbers["receipt_get_outcome"] == Pair.restoredOutcome)
        #expect(numbers["receipt_get_status"] == ok)
        #expect(numbers["error_get_status"] == userCancelled)
        #expect(ids["receipt_get_continuation_id"] == ids["continuation_get_id"])
        #expect(ids["continuation_get_id"] != [UInt8](repeating: 0, count: 16))
        #expect(pair.restored == 1)
      }
    }

    /// The words of another app must not look like lines of ours, or like commands to a terminal.
    @Test func `an error that quotes another app is one line`() throws {
      try withPair { pair, _ in
        try pair.decline("not\nnow\0,\u{1B}[0m later")
        let function = try #require(Self.getters.first { $0.name == "segue_error_get_message" })
        var message: [UInt8] = []
        let error = try #require(pair.handles["segue_error"])
        let status = get(function, error) { places in
          guard let text = places[1].load(as: UnsafeRawPointer?.self) else { return }
          message = Array(UnsafeRawBufferPointer(start: text, count: places[2].load(as: Int.self)))
        }
        #expect(status == ok)
        #expect(String(decoding: message, as: UTF8.self).contains("not now , [0m later"))
        #expect(message.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
      }
    }

    @Test func `an output of a getter is refused when NULL if it is required, else left out`() throws {
      try withPair { pair, _ in
        for function in Self.getters {
          let handle = try #require(pair.handles[function.parameters[0].handle ?? ""])
          for (index, parameter) in function.parameters.enumerated() where !parameter.isIn {
            let status = get(function, handle, without: index)
            #expect(status == (parameter.required == true ? invalidArgument : ok), "\(function.name)")
          }
        }
      }
    }

    /// One argument of an otherwise good call at a time, for each handle of each function.
    @Test func `no function takes a handle that is released, or of another type`() throws {
      try withPair { pair, stale in
        let fixture = Fixture(lent: pair.handles)
        let live = SignatureTable.shared.handles.compactMap { type in fixture.handle(type).map { (type, $0) } }
        #expect(live.count == SignatureTable.shared.handles.count, "one of each type")
        let count = library.liveHandles
        for function in Self.functions where function.parameters.contains(where: \.takesHandle) {
          guard let good = fixture.arguments(function) else {
            Issue.record("no arguments for \(function.name)")
            continue
          }
          for (index, parameter) in function.parameters.enumerated() where parameter.takesHandle {
            let type = parameter.handle ?? ""
            for (name, bad) in live.filter({ $0.0 != type })
              + [("a released one", stale[type] ?? fixture.stale(type))]
              .compactMap({ name, handle in handle.map { (name, $0) } })
            {
              var arguments = good
              arguments[index] = .handle(bad)
              #expect(library.status(function.name, arguments) == invalidHandle, "\(function.name) takes \(name)")
            }
          }
        }
        #expect(library.liveHandles == count)
        fixture.end()
      }
    }

    /// The one registration that ends with an answer: when that is given, or the app goes.
    @Test func `an explanation comes once, and its context is destroyed once`() throws {
      try withPair { pair, _ in
        let activity = Argument.handle(pair.handles["segue_activity"] ?? 0)
        var events: [String] = []
        let explain = Callback("segue_explain_function") { _ in
          events.append("explained")
          return 0
        }
        let here = pthread_self()
        let destroy = Callback("segue_destroy") { _ in
          #expect(pthread_equal(pthread_self(), here) != 0, "with host delivery it runs on the host's thread")
          events.append("destroyed")
          return 0
        }
        let ask = { [library] in
          library.status("segue_activity_explain", activity, .pointer(explain.code), .null, .pointer(destroy.code))
        }
        #expect(ask() == ok)
        #expect(events.isEmpty)
        pair.dispatch { events.count >= 2 }
        #expect(events == ["explained", "destroyed"])
        events = []
        #expect(ask() == ok)
        pair.closeOrigin()
        #expect(events.filter { $0 == "destroyed" }.count == 1)
        #expect(events.last == "destroyed")
        events = []
        #expect(ask() != ok)
        #expect(events == ["destroyed"])
        withExtendedLifetime((explain, destroy)) {}
      }
    }

    /// R7.3.
    @Test func `how a stream ended is told once, and each context is destroyed once`() throws {
      let pair = try Pair()
      defer { pair.end() }
      var results: [UInt64] = []
      var destroyed = 0
      let ended = Callback("segue_stream_result_function") {
        results.append($0[2])
        return 0
      }
      let destroy = Callback("segue_destroy") { _ in
        destroyed += 1
        return 0
      }
      let stream = Argument.handle(try #require(pair.handles["segue_stream"]))
      let ask = { [library] in
        library.status("segue_stream_ask_result", stream, .pointer(ended.code), .null, .pointer(destroy.code))
      }
      // Not open yet.
      #expect(ask() == invalidState)
      #expect(destroyed == 1)
      var descriptor: Int32 = -1
      withUnsafeMutablePointer(to: &descriptor) {
        #expect(library.status("segue_stream_open", stream, .pointer($0)) == ok)
      }
      defer { close(descriptor) }
      // The other end is released unopened by a callback, which may be due yet.
      pair.dispatch { pair.hasAnswer }
      var byte: UInt8 = 0
      #expect(read(descriptor, &byte, 1) == 0)
      #expect(ask() == ok)
      #expect(ask() == ok)
      pair.dispatch { results.count == 2 }
      let aborted: UInt64 = 2
      #expect(results == [aborted, aborted])
      #expect(destroyed == 3)
      withExtendedLifetime((ended, destroy)) {}
    }

    @Test func `a link that breaks is told of once, and its context is destroyed once`() throws {
      try withPair { pair, _ in
        let app = Argument.handle(pair.handles["segue_app"] ?? 0)
        var events: [String] = []
        let broken = Callback("segue_link_function") { _ in
          events.append("told")
          return 0
        }
        let destroy = Callback("segue_destroy") { _ in
          events.append("destroyed")
          return 0
        }
        let link = { [library] (descriptor: Int32) in
          library.status(
            "segue_app_link", app, .int(descriptor), .int(0), .pointer(broken.code), .null, .pointer(destroy.code),
            .null)
        }
        #expect(link(-1) == invalidArgument)
        #expect(events == ["destroyed"])
        events = []
        var ends: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        #expect(link(ends[0]) == ok, "\(library.lastMessage)")
        close(ends[1])
        pair.dispatch { events.contains("destroyed") }
        #expect(events == ["told", "destroyed"])
        withExtendedLifetime((broken, destroy)) {}
      }
    }

    @Test func `a list of handles is looked at one by one`() throws {
      try withPair { pair, stale in
        let continuation = try #require(pair.handles["segue_continuation"])
        let good = try #require(pair.handles["segue_restorable"])
        let bad = [0, 1, .max, continuation, pair.handles["segue_offer"], stale["segue_restorable"]].compactMap { $0 }
        for bad in bad {
          let list = [good, bad]
          let status = list.withUnsafeBytes {
            library.status("segue_continuation_restore", .handle(continuation), .pointer($0.baseAddress), .int(2))
          }
          #expect(status == invalidHandle, "\(String(bad, radix: 16))")
        }
        #expect(pair.restored == 1)
      }
    }

    @Test func `what has ended is not answered again`() throws {
      try withPair { pair, _ in
        let continuation = Argument.handle(pair.handles["segue_continuation"] ?? 0)
        #expect(library.status("segue_save_complete", .handle(pair.handles["segue_save"] ?? 0)) == invalidState)
        #expect(library.status("segue_continuation_complete", continuation, .int(1)) == invalidState)
        #expect(library.status("segue_continuation_cancel", continuation) == ok)
      }
    }

    /// Each type's last count, and one that is not there.
    @Test func `no handle is released once too often`() throws {
      let before = library.liveHandles
      let pair = try Pair()
      for type in Pair.given {
        let handle = try #require(pair.handles[type])
        #expect(library.status("segue_retain", .handle(handle)) == ok)
        #expect(library.status("segue_release", .handle(handle)) == ok)
      }
      let handles = pair.handles
      pair.end()
      for (type, handle) in handles {
        #expect(library.status("segue_release", .handle(handle)) == invalidHandle, "\(type)")
      }
      #expect(library.liveHandles == before)
    }
  }
}
