import Foundation
import Testing

private let ok: Int32 = 0
private let invalidArgument: Int32 = 1
private let invalidHandle: Int32 = 2
private let invalidURL: Int32 = 3
private let limitExceeded: Int32 = 10

/// Every function of the table, with one argument of an otherwise good call spoilt at a time. A function that is added
/// to the header is in the table, so it is tested here, or fails.
@Suite(.serialized) struct BadInputTests {
  private static let functions = SignatureTable.shared.functions

  private static func functions(_ role: String, isIn: Bool) -> [SignatureTable.Function] {
    functions.filter { $0.parameters.contains { $0.role == role && $0.isIn == isIn } }
  }

  private static let takingHandles = functions("handle", isIn: true)
  private static let takingText = functions("string", isIn: true)
  private static let takingData = functions("data", isIn: true)
  private static let giving = functions.filter { $0.parameters.contains { !$0.isIn } }
  private static let takingEnumerators = functions.filter { $0.parameters.contains { $0.isIn && $0.enumerator != nil } }
  private static let registering = functions.filter { $0.parameters.contains { $0.callback == "segue_destroy" } }

  /// Calls a function with one argument replaced, and checks that it left no handle behind.
  private func spoil(
    _ function: SignatureTable.Function, _ fixture: Fixture, _ index: Int, _ argument: Argument, length: Int? = nil
  ) -> Int32? {
    guard var arguments = fixture.arguments(function) else { return nil }
    arguments[index] = argument
    if let length, let place = function.parameters.firstIndex(where: { $0.of == function.parameters[index].name }) {
      arguments[place] = .int(length)
    }
    let live = fixture.library.liveHandles
    let status = fixture.library.status(function.name, arguments)
    if status != ok {
      #expect(!fixture.library.lastMessage.isEmpty)
      #expect(fixture.library.liveHandles == live)
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
      for (index, parameter) in function.parameters.enumerated() where parameter.role == "handle" && parameter.isIn {
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

  @Test(arguments: takingHandles.filter { $0.name.hasSuffix("_release") }) func `releases NULL, and nothing twice`(
    function: SignatureTable.Function
  ) {
    withFixture { fixture in
      #expect(fixture.library.status(function.name, .null) == ok)
      let type = function.parameters[0].handle ?? ""
      guard let stale = fixture.stale(type) else { return }
      #expect(fixture.library.status(function.name, .handle(stale)) == invalidHandle)
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
        if parameter.nullable != true, let status = spoil(function, fixture, index, .null) {
          #expect(status == invalidArgument, "NULL")
        }
        for length in [Int.min, Int.min + 1, -2, Int.max, 1 << 40, (16 << 20) + 1] {
          guard let status = spoil(function, fixture, index, good, length: length) else { continue }
          #expect([invalidArgument, limitExceeded].contains(status), "length \(length)")
        }
        for bytes in notUTF8 {
          let bad = Argument.pointer(fixture.bytes(bytes))
          for length in [-1, bytes.count - 1] {
            guard let status = spoil(function, fixture, index, bad, length: length) else { continue }
            #expect([invalidArgument, invalidURL].contains(status), "\(bytes)")
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

  /// `destroy` is called exactly once, also when the registration fails.
  @Test(arguments: registering) func `destroys a context exactly once`(function: SignatureTable.Function) {
    withFixture { fixture in
      for (index, parameter) in function.parameters.enumerated() {
        let before = fixture.destroyed
        if parameter.role == "handle", parameter.isIn {
          guard spoil(function, fixture, index, .handle(1)) != nil else { continue }
        } else if parameter.required == true || (parameter.role == "callback" && parameter.nullable != true) {
          guard spoil(function, fixture, index, .null) != nil else { continue }
        } else if parameter.enumerator != nil {
          guard spoil(function, fixture, index, .int(99)) != nil else { continue }
        } else {
          continue
        }
        #expect(fixture.destroyed == before + 1, "\(parameter.name)")
      }
    }
  }

  /// Good and bad arguments in all mixtures; what counts is that the process lives and nothing leaks.
  /// SEGUE_FUZZ_CALLS sets how many calls.
  @Test func `survives calls at random`() {
    let count = ProcessInfo.processInfo.environment["SEGUE_FUZZ_CALLS"].flatMap(Int.init) ?? 20_000
    var random = Seeded(state: 1)
    // Those that wait, or let go of what the fixture holds.
    let safe = Self.functions.filter {
      !$0.name.hasSuffix("_release") && !$0.name.hasSuffix("_retain")
        && !["segue_free", "segue_app_dispatch", "segue_app_open", "segue_app_close", "segue_log_set"].contains($0.name)
        && !$0.parameters.contains { !$0.isIn && ["handle", "string", "data"].contains($0.role) && $0.size == nil }
    }
    for _ in 0..<max(1, count / 1000) {
      withFixture { fixture in
        for _ in 0..<1000 {
          guard let function = safe.randomElement(using: &random) else { return }
          let good = fixture.arguments(function) ?? function.parameters.map { _ in .null }
          let arguments = zip(function.parameters, good).map { parameter, good -> Argument in
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where parameter.role != "callback": .null
            case 1 where parameter.role == "handle" && parameter.isIn: .handle(UInt(random.next()))
            case 2 where parameter.role == "length" && parameter.isIn: .int([0, 1, Int.max, .min].randomElement()!)
            case 3
            where parameter.role == "value" && parameter.isIn && !["count", "capacity"].contains(parameter.name):
              .word(random.next())
            default: good
            }
          }
          fixture.library.call(function.name, arguments)
        }
      }
    }
    #expect(SharedLibrary.shared.liveHandles == 0)
  }
}

/// SplitMix64: the same calls in every run.
struct Seeded: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }
}
