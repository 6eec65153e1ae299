// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import Testing

extension OneAtATime {
  /// Calls every function of the table with one bad argument at a time. A function that is added to the header is in
  /// the table, so it is tested here, or fails.
  @Suite struct BadInputTests {
    private static let functions = SignatureTable.shared.functions

    private static func functions(_ role: String, isIn: Bool) -> [SignatureTable.Function] {
      functions.filter { $0.parameters.contains { $0.role == role && $0.isIn == isIn } }
    }

    private static let takingHandles = functions.filter { $0.parameters.contains(where: \.takesHandle) }
    private static let takingText = functions("string", isIn: true)
    private static let takingData = functions("data", isIn: true)
    private static let giving = functions.filter { $0.parameters.contains { !$0.isIn } }
    private static let takingEnumerators = functions.filter {
      $0.parameters.contains { $0.isIn && $0.enumerator != nil }
    }
    private static let registering = functions.filter { $0.parameters.contains { $0.callback == "segue_destroy" } }

    /// Calls a function with one argument replaced, and checks that a failing call left no handle and no output behind.
    private func spoil(
      _ function: SignatureTable.Function, _ fixture: Fixture, _ index: Int, _ argument: Argument, length: Int? = nil
    ) -> Int32? {
      guard var arguments = fixture.arguments(function) else { return nil }
      arguments[index] = argument
      if let length, let place = function.parameters.firstIndex(where: { $0.of == function.parameters[index].name }) {
        arguments[place] = .int(length)
      }
      let live = fixture.library.liveHandles
      fixture.clearOutputs()
      let status = fixture.library.status(function.name, arguments)
      // Its result is another call's.
      if status == ok || function.name == "segue_last_error" {
        fixture.takeBack(function)
      } else if function.name != "segue_app_wake" {  // for signal handlers: it leaves no message
        let message = fixture.library.lastMessage
        if [invalidArgument, invalidHandle, limitExceeded].contains(status) {
          let parameter = function.parameters[index]
          let names = [parameter.name, parameter.handle].compactMap { $0 }
          #expect(names.contains { message.contains($0) }, "\(parameter.name): \(message)")
        }
        #expect(message.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
        #expect(fixture.library.liveHandles == live)
        #expect(fixture.outputsAreUntouched, "an output was written")
      }
      return status
    }

    private func withFixture(_ body: (Fixture) throws -> Void) rethrows {
      let before = SharedLibrary.shared.liveHandles
      let fixture = Fixture()
      try body(fixture)
      fixture.end()
      #expect(SharedLibrary.shared.liveHandles == before, "handles are left")
    }

    @Test(arguments: functions) func `is in the library`(function: SignatureTable.Function) {
      #expect(SharedLibrary.shared.has(function.name))
    }

    /// A handle that is of a type there is none of here is spoilt with all others NULL.
    @Test(arguments: takingHandles) func `takes no handle that is NULL, junk, released or of another type`(
      function: SignatureTable.Function
    ) {
      withFixture { fixture in
        for (index, parameter) in function.parameters.enumerated() where parameter.takesHandle {
          let type = parameter.handle ?? ""
          var bad: [UInt] = [1, 4096, .max, 0x5E << 56, UInt(bitPattern: UnsafeRawPointer(fixture.text("an address")))]
          if parameter.nullable != true { bad.append(0) }
          bad += [fixture.stale(type), fixture.foreign(to: type)].compactMap { $0 }
          if let live = fixture.handle(type) { bad += [live + 1, live ^ 1 << 24, live ^ 1 << 40, live ^ 1 << 52] }
          for handle in bad {
            let status =
              spoil(function, fixture, index, .handle(handle))
              ?? fixture.library.status(
                function.name, function.parameters.indices.map { $0 == index ? .handle(handle) : .null })
            #expect(status == invalidHandle, "\(parameter.name) = \(String(handle, radix: 16))")
          }
        }
      }
    }

    @Test(arguments: SignatureTable.shared.handles)
    func `a handle of any type is counted, and released neither twice nor as junk`(type: String) {
      withFixture { fixture in
        let library = fixture.library
        #expect(library.status("segue_release", .null) == ok)
        #expect(library.status("segue_retain", .null) == invalidHandle)
        for junk: UInt in [1, 4096, .max, 0x5E << 56, UInt(bitPattern: UnsafeRawPointer(fixture.text("an address")))] {
          #expect(library.status("segue_retain", .handle(junk)) == invalidHandle, "\(String(junk, radix: 16))")
          #expect(library.status("segue_release", .handle(junk)) == invalidHandle, "\(String(junk, radix: 16))")
        }
        guard let live = fixture.handle(type), let stale = fixture.stale(type) else { return }
        let count = library.liveHandles
        #expect(library.status("segue_retain", .handle(live)) == ok)
        #expect(library.status("segue_release", .handle(live)) == ok)
        #expect(library.status("segue_retain", .handle(stale)) == invalidHandle)
        #expect(library.lastMessage.contains(type))
        #expect(library.status("segue_release", .handle(stale)) == invalidHandle)
        #expect(library.lastMessage.contains(type))
        for other in [live + 1, live ^ 1 << 24, live ^ 1 << 40, live ^ 1 << 52] where other != live {
          #expect(library.status("segue_release", .handle(other)) == invalidHandle, "\(String(other, radix: 16))")
        }
        #expect(library.liveHandles == count)
      }
    }

    @Test(arguments: takingText) func `takes no text that is NULL, too long or not UTF-8`(
      function: SignatureTable.Function
    ) {
      let notUTF8: [[UInt8]] = [
        [0xFF, 0], [0xC3, 0], [0xC0, 0x80, 0], [0xED, 0xA0, 0x80, 0], [0xF4, 0x90, 0x80, 0x80, 0], [0x80, 0],
      ]
      withFixture { fixture in
        for (index, parameter) in function.parameters.enumerated() where parameter.role == "string" && parameter.isIn {
          let good = Argument.pointer(fixture.text("https://example.com/"))
          let isJSON = parameter.name == "json"
          if parameter.nullable != true, let status = spoil(function, fixture, index, .null) {
            #expect(status == invalidArgument, "NULL")
          }
          for length in [Int.min, Int.min + 1, -2, Int.max, 1 << 40, ((isJSON ? 144 : 16) << 20) + 1] {
            guard let status = spoil(function, fixture, index, good, length: length) else { continue }
            #expect([invalidArgument, limitExceeded].contains(status), "length \(length)")
          }
          for bytes in notUTF8 {
            let bad = Argument.pointer(fixture.bytes(bytes))
            for length in [-1, bytes.count - 1] {
              guard let status = spoil(function, fixture, index, bad, length: length) else { continue }
              #expect((isJSON ? [malformed] : [invalidArgument, invalidURL]).contains(status), "\(bytes)")
            }
          }
        }
      }
    }

    @Test(arguments: takingData) func `takes no bytes that are NULL or too many`(function: SignatureTable.Function) {
      withFixture { fixture in
        for (index, parameter) in function.parameters.enumerated() where parameter.role == "data" && parameter.isIn {
          let clears = parameter.nullable == true && !function.name.hasPrefix("segue_writer")
          if !clears, let status = spoil(function, fixture, index, .null, length: 1) {
            #expect(status == invalidArgument, "NULL")
          }
          guard parameter.size == nil else { continue }
          for length in [Int.min, -1, Int.max, 1 << 40] {
            guard let status = spoil(function, fixture, index, .pointer(fixture.bytes([0xA0])), length: length) else {
              continue
            }
            #expect([invalidArgument, limitExceeded].contains(status), "length \(length)")
          }
        }
      }
    }

    @Test(arguments: giving) func `an output that is NULL is refused if required, else not written`(
      function: SignatureTable.Function
    ) {
      withFixture { fixture in
        for (index, parameter) in function.parameters.enumerated() where !parameter.isIn {
          guard let status = spoil(function, fixture, index, .null) else { continue }
          if parameter.required == true { #expect(status == invalidArgument, "\(parameter.name)") }
        }
      }
    }

    @Test(arguments: takingEnumerators) func `takes no number that means nothing`(function: SignatureTable.Function) {
      withFixture { fixture in
        for (index, parameter) in function.parameters.enumerated() where parameter.isIn && parameter.enumerator != nil {
          // For a status there is a name for every number.
          guard parameter.enumerator != "segue_status" else { continue }
          for number: Int32 in [-1, 99, .max, .min] {
            guard let status = spoil(function, fixture, index, .int(number)) else { continue }
            #expect(status == invalidArgument, "\(parameter.name) = \(number)")
          }
        }
      }
    }

    /// The functions of objects that an app has only while it is open.
    private static let ofOpenApps: Set = ["segue_stream_ask_result", "segue_document_observe"]

    @Test(arguments: registering.filter { !ofOpenApps.contains($0.name) })
    func `destroys a context exactly once when the registration fails`(
      function: SignatureTable.Function
    ) {
      withFixture { fixture in
        var spoilt = 0
        for (index, parameter) in function.parameters.enumerated() {
          let bad: Argument
          if parameter.role == "handle", parameter.isIn {
            bad = .handle(1)
          } else if parameter.required == true || (parameter.role == "callback" && parameter.nullable != true) {
            bad = .null
          } else if parameter.enumerator != nil {
            bad = .int(99)
          } else {
            continue
          }
          let before = fixture.destroyed
          let status = spoil(function, fixture, index, bad)
          #expect(status != nil && status != ok, "\(parameter.name)")
          #expect(fixture.destroyed == before + 1, "\(parameter.name)")
          spoilt += 1
        }
        #expect(spoilt > 0, "no way known in which it fails")
      }
    }

    /// These need an app that is open: `LiveHandleTests`.
    private static let needingAnOpenApp: Set = [
      "segue_activity_explain", "segue_app_link", "segue_activity_ask_stream", "segue_stream_ask_result",
      "segue_activity_fetch_attachment", "segue_activity_fetch_attachment_to_fd",
      "segue_activity_request", "segue_activity_resume_back", "segue_app_delete_saved", "segue_app_delete_all_saved",
      "segue_responder_create", "segue_document_create", "segue_document_observe",
    ]

    /// This needs a manifest: `test_fleet_agents.py` installs apps, and counts the contexts that are left.
    private static let needingAFile: Set = ["segue_fleet_device_install_app"]

    @Test(arguments: registering.filter { !needingAnOpenApp.union(needingAFile).contains($0.name) })
    func `destroys a context exactly once when the registration ends`(function: SignatureTable.Function) throws {
      try withFixture { fixture in
        let arguments = try #require(fixture.arguments(function))
        #expect(fixture.library.status(function.name, arguments) == ok)
        #expect(fixture.destroyed == 0)
        if function.parameters.contains(where: { $0.role == "handle" && !$0.isIn }) {
          fixture.takeBack(function)
        } else {
          let none = function.parameters.map { $0.enumerator == nil ? Argument.null : .int(1) }
          #expect(fixture.library.status(function.name, none) == ok)
        }
        #expect(fixture.destroyed == 1)
      }
    }
  }
}
