// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// The settings of a file that count, and the treatment of the others (R10.2).
@Suite struct DeviceSettingsTests {
  private func entry(_ key: String, _ value: Value) -> (key: Value, value: Value) { (.string(key), value) }
  private func strings(_ texts: String...) throws -> Value { try .array(texts.map { .string($0) }) }
  private func file(_ entries: (key: Value, value: Value)...) throws -> [UInt8] {
    try Value.dictionary(entries).encoding
  }
  private func ask(_ key: String, _ value: Value) throws -> Value { try .dictionary([entry(key, value)]) }

  @Test func `an address of an interface that is not there waits, and all else holds`() throws {
    let addresses = try strings("[fe80::9%x0]:4711", "10.4.0.7:4711")
    let settings = try DeviceSettings(
      file: file(
        entry("addresses", addresses), entry("push", .string("never")), entry("discovery", .bool(false)),
        entry("private_types", strings("com.example.diary"))))
    #expect(settings.addresses == ["[fe80::9%x0]:4711", "10.4.0.7:4711"])
    #expect(settings.dialled.map { $0.text } == ["10.4.0.7:4711"])
    #expect(settings.push == .never && !settings.isAnnounced && settings.privateTypes == ["com.example.diary"])
    #expect(settings.privacy?("com.example.diary", "a") == true && settings.privacy?("com.example.note", "a") == false)
    #expect(settings.problem?.message.contains("[fe80::9%x0]:4711: waits for its network interface") == true)
    // It is kept, and can be set together with others; one that was not there before cannot.
    let again = try DeviceSettings(file: try settings.file())
    #expect(again.addresses == settings.addresses && again.push == .never)
    var changed = again
    try changed.change(ask("addresses", try strings("[fe80::9%x0]:4711", "10.4.0.8:4711")))
    #expect(changed.addresses == ["[fe80::9%x0]:4711", "10.4.0.8:4711"])
    #expect(throws: SegueError.self) { try changed.change(ask("addresses", try strings("[fe80::7%x0]:4711"))) }
  }

  @Test func `what cannot be used of a file is kept and reported, and takes nothing else with it`() throws {
    let unknown = try Value.array([.integer(1)])
    var settings = try DeviceSettings(
      file: file(
        entry("addresses", strings("nowhere", "10.4.0.7:4711", "10.4.0.7")), entry("port", .integer(70_000)),
        entry("later", unknown), entry("push", .string("at-once")), entry("discovery", .bool(false))))
    #expect(settings.dialled.map { $0.text } == ["10.4.0.7:4711"] && settings.port == 0)
    #expect(settings.push == .atOnce && !settings.isAnnounced && settings.privacy == nil)
    let told = try #require(settings.problem?.message)
    for each in ["nowhere: is no address", "port: must be 0 to 65535", "all else holds"] {
      #expect(told.contains(each), "\(told)")
    }
    #expect(!told.contains("later"), "another version has written it")
    let kept = try Value(cbor: try settings.file())
    #expect(kept["later"] == unknown && kept["port"] == .integer(70_000) && kept["addresses"]?.elements?.count == 3)
    #expect(try DeviceSettings(file: try settings.file()).problem?.message == told)
    // A value that the user sets anew takes the place of one that could not be used, and of that alone.
    try settings.change(ask("addresses", try strings("10.4.0.9:1")))
    try settings.change(ask("port", .integer(4_711)))
    let now = try Value(cbor: try settings.file())
    #expect(now["later"] == unknown && now["port"] == .integer(4_711) && now["addresses"]?.elements?.count == 1)
    #expect(settings.problem == nil)
  }

  @Test func `a wrong last port gives way to the next one, and keys of another version stay and are no problem`() throws
  {
    for wrong: Value in [.integer(70_000), .string("4711"), .null] {
      let odd: (key: Value, value: Value) = (.integer(7), .bool(true))
      var settings = try DeviceSettings(
        file: file(entry("last_port", wrong), entry("later", .integer(1)), odd, entry("push", .string("never"))))
      #expect(settings.problem == nil && settings.lastPort == 0 && settings.push == .never)
      settings.lastPort = 4_711
      let stored = try Value(cbor: try settings.file())
      #expect(stored["last_port"] == .integer(4_711) && stored["later"] == .integer(1))
      #expect(stored.entries?.contains { $0.key == .integer(7) && $0.value == .bool(true) } == true)
      let again = try DeviceSettings(file: try settings.file())
      #expect(again.lastPort == 4_711 && again.problem == nil)
    }
  }

  @Test func `what is stored can be read again, however much another version has written`() throws {
    let large = Value.string(String(repeating: "x", count: 40_000))
    var settings = try DeviceSettings(file: file(entry("later", large), entry("even_later", large)))
    try settings.change(ask("push", .string("never")))
    #expect(try settings.file().count < 64 * 1024)
    #expect(try DeviceSettings(file: try settings.file()).push == .never)
    // The user's own settings are not dropped: they are to be set anew.
    settings = try DeviceSettings(file: file(entry("private_types", large), entry("private_apps", large)))
    try settings.change(ask("push", .string("never")))
    #expect(throws: SegueError.self) { try settings.file() }
    try settings.change(ask("private_types", try strings()))
    #expect(try DeviceSettings(file: try settings.file()).privacy?("a", "b") == true, "the other one is wrong still")
  }

  @Test func `R10.2: if it cannot be read what is private, all is, until it is set anew`() throws {
    let wrong = try Value.array([.string("com.example.diary"), .integer(1)])
    for (key, value, good) in [
      ("private", Value.string("yes"), Value.bool(false)), ("private_types", wrong, try strings("com.example.diary")),
      ("private_apps", .null, try strings()),
    ] {
      var settings = try DeviceSettings(file: file(entry(key, value)))
      #expect(settings.privacy?("com.example.note", "a") == true)
      #expect(settings.problem?.message.contains("until it is set anew what is private") == true)
      try settings.change(ask("push", .string("ask")))
      #expect(settings.privacy?("com.example.note", "a") == true)
      try settings.change(ask(key, good))
      #expect(settings.privacy?("com.example.note", "a") != true && settings.problem == nil)
    }
    let push = try DeviceSettings(file: file(entry("push", .string("later"))))
    #expect(push.push == .never)
  }

  @Test func `what is no dictionary is refused whole`() {
    for bytes in [[], [0x80], [0xff], Array("damaged".utf8)] as [[UInt8]] {
      #expect(throws: SegueError.self) { try DeviceSettings(file: bytes) }
    }
    #expect(DeviceSettings.unreadable.push == .never && DeviceSettings.unreadable.privacy?("a", "b") == true)
  }
}
