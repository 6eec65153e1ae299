// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem
import Testing

@testable import SegueAgentCore

/// The addresses that a user gives a device, and the answers to look-ups of names (R14.2).
@Suite struct DeviceAddressTests {
  private let device = Identifier(high: 1, low: 1)

  private func lookup(_ lines: String..., of name: String = "laptop.example") throws -> [String]? {
    let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
    switch NameLookupOutput.decode(bytes, of: try #require(DeviceHostName(name))) {
    case .addresses(let all): return all.map { $0.host }
    case .failed: return nil
    }
  }

  private func reason(_ text: String, of name: String = "laptop.example") throws -> String {
    let lookup = NameLookupOutput.decode(Array(text.utf8), of: try #require(DeviceHostName(name)))
    guard case .failed(let reason) = lookup else { return "found" }
    return reason
  }

  @Test(arguments: [
    ("192.0.2.7:4711", "192.0.2.7:4711"), ("192.0.2.7", "192.0.2.7"), ("[2001:DB8::7]:4711", "[2001:db8::7]:4711"),
    ("[2001:db8::7]", "[2001:db8::7]"), ("[fe80::7%gone0]:4711", "[fe80::7%gone0]:4711"),
    ("Laptop.Example.:4711", "laptop.example:4711"), ("my_laptop", "my_laptop"), ("localhost:1", "localhost:1"),
  ]) func `R14.2 an address is IPv4, IPv6 with a zone, or a name`(text: String, read: String) throws {
    #expect(try DeviceAddress(text).text == read)
    #expect(try DeviceAddress(DeviceAddress(text).text) == DeviceAddress(text))
  }

  @Test(arguments: [
    "", ":4711", "192.0.2.7:0", "192.0.2.7:70000", "192.0.2.7:04", "127.1", "1", "0x7f000001", "192.0.2.300",
    "2001:db8::7", "fe80::7%eth0", "[]:1", "[::1", "[laptop]:1", "224.0.0.1:1", "0.0.0.0:1", "-n", "a..b", "a b", "é",
    "laptop:", "laptop:x", "a\u{0}b", "[fe80::7]x:1", "[::]:4711",
  ]) func `R14.2 anything else is none, and is no option of a program`(text: String) {
    #expect(throws: SegueError.self) { try DeviceAddress(text) }
  }

  @Test func `R14.2 a name has at most 253 bytes, in labels of 63`() {
    let label = String(repeating: "a", count: 63)
    let longest = [label, label, label, String(repeating: "a", count: 61)].joined(separator: ".")
    #expect(longest.utf8.count == 253 && DeviceHostName(longest) != nil && DeviceHostName(longest + ".") != nil)
    #expect(DeviceHostName(longest + "a") == nil && DeviceHostName("a" + label) == nil)
    #expect(DeviceHostName("a-") == nil && DeviceHostName("a.1") == nil && DeviceHostName("1.a")?.text == "1.a")
  }

  @Test func `R14.2 an answer has at most 16 addresses of one machine each`() throws {
    #expect(try lookup("192.0.2.7", "2001:db8::7", "192.0.2.7") == ["192.0.2.7", "2001:db8::7"])
    #expect(try lookup("192.0.2.7", "junk", "224.0.0.1", "0.0.0.0", "::", "1.2") == ["192.0.2.7"])
    let many = (1...40).map { "192.0.2.\($0)\n" }.joined()
    let name = try #require(DeviceHostName("a"))
    guard case .addresses(let all) = NameLookupOutput.decode(Array(many.utf8), of: name) else { Issue.record(); return }
    #expect(all.map { $0.host } == (1...16).map { "192.0.2.\($0)" })
    for broken in ["", "192.0.2.7", String(repeating: "x", count: 5_000), "\n\n"] {
      #expect(try reason(broken) != "found")
    }
    #expect(try reason("!no such\u{1b}[31m name\n") == #"no such\u{1b}[31m name"# || reason("!a\n") == "a")
  }

  @Test func `R14.2 a name that leads to this device alone leads nowhere, unless that is its meaning`() throws {
    #expect(try reason("127.0.1.1\n::1\n").contains("leads to this device itself"))
    #expect(try lookup("127.0.1.1", "192.0.2.7") == ["192.0.2.7"])
    for name in ["localhost", "box.localhost"] { #expect(try lookup("127.0.0.1", of: name) == ["127.0.0.1"]) }
    #expect(try reason("127.0.0.1\n", of: "nolocalhost") != "found")
  }

  @Test func `R14.2 a link-local address needs an interface`() throws {
    #expect(try reason("fe80::7\n").contains("no interface"))
    #expect(try lookup("fe80::7%lo") == ["fe80::7%lo"])
    #expect(try reason("fe80::7%gone0\n") != "found")
  }

  @Test func `R14.2 what a lookup has found is written and read again`() throws {
    let name = try #require(DeviceHostName("a"))
    let addresses = try ["192.0.2.7", "2001:db8::7"].map { try NetworkAddress.read(host: $0, port: 1) }
    guard case .addresses(let all) = NameLookupOutput.decode(NameLookupOutput.encode(.addresses(addresses)), of: name)
    else { Issue.record(); return }
    #expect(all == addresses)
    guard case .failed("no") = NameLookupOutput.decode(NameLookupOutput.encode(.failed("no")), of: name) else {
      Issue.record(); return
    }
  }

  // MARK: Records

  @Test func `R14.2 an address without a port has that which the device has told`() throws {
    var records = DeviceRecords()
    #expect(throws: SegueError.self) { try records.add(DeviceAddress("laptop.example"), to: device) }
    records.change(device) { $0.port = 4_711 }
    for text in ["laptop.example", "192.0.2.7", "192.0.2.8:1"] { try records.add(DeviceAddress(text), to: device) }
    records.set(.relay, isAvoided: true, to: device)
    var stored = DeviceRecords()
    stored.read(try records.value())
    #expect(stored[device]?.avoided == [.relay], "the kinds of paths outlive the agent")
    let paths = try #require(records[device]?.paths([]))
    #expect(paths.names.map { "\($0.name.text):\($0.port)" } == ["laptop.example:4711"])
    #expect(paths.addresses.map { $0.text } == ["192.0.2.7:4711", "192.0.2.8:1"])
  }

  @Test func `R14.2 addresses of the user are bounded, and can be taken back`() throws {
    var records = DeviceRecords()
    for number in 1...Limits.addressesPerDevice {
      try records.add(DeviceAddress("192.0.2.\(number):1"), to: device)
      try records.add(DeviceAddress("192.0.2.\(number):1"), to: device)
    }
    #expect(records[device]?.addresses.count == Limits.addressesPerDevice)
    #expect(throws: SegueError.self) { try records.add(DeviceAddress("192.0.2.99:1"), to: device) }
    #expect(throws: SegueError.self) { try records.remove(DeviceAddress("192.0.2.99:1"), from: device) }
    for number in 1...Limits.addressesPerDevice {
      try records.remove(DeviceAddress("192.0.2.\(number):1"), from: device)
    }
    #expect(records.all.isEmpty)
    let long = String(repeating: "a", count: 63)
    #expect(throws: SegueError.self) {
      for number in 0..<64 {
        let name = "\(long).\(long).\(long).x\(number):1"
        try records.add(DeviceAddress(name), to: Identifier(high: 2, low: UInt64(number)))
      }
    }
    #expect(records.all.count > 8 && records.all.reduce(0) { $0 + $1.bytes } <= Limits.deviceAddressBytes)
  }

  @Test func `R14.2 records are stored, and what cannot be read of them is left out`() throws {
    var settings = DeviceSettings()
    try settings.records.add(DeviceAddress("laptop.example:4711"), to: device)
    settings.records.change(device) { record in
      (record.port, record.best) = (4_711, "[fe80::7%gone0]:4711")
      record.told = [NetworkAddress(bytes: [UInt8](repeating: 0, count: 10) + [255, 255, 192, 0, 2, 7])!]
    }
    let again = try DeviceSettings(file: try settings.file())
    let record = try #require(again.records[device])
    #expect(record.addresses.map { $0.text } == ["laptop.example:4711"] && record.port == 4_711)
    #expect(record.told.map { $0.host } == ["192.0.2.7"] && record.best == "[fe80::7%gone0]:4711")
    #expect(try again.file() == settings.file() && again.problem == nil)
    let broken = try Value.dictionary([
      (
        key: .string("devices"),
        value: try .array([
          .string("x"),
          try .dictionary([(key: .string("device"), value: .uuid(device)), (key: .string("port"), value: .integer(-1))]
          ),
          try .dictionary([
            (key: .string("device"), value: .uuid(device)),
            (key: .string("addresses"), value: try .array([.string("a b"), .string("192.0.2.7:1"), .integer(3)])),
            (key: .string("told"), value: try .array([.data([1, 2]), .data([UInt8](repeating: 0, count: 16))])),
          ]),
        ])
      ), (key: .string("push"), value: .string("never")),
    ])
    let read = try DeviceSettings(file: broken.encoding)
    #expect(read.records[device]?.addresses.map { $0.text } == ["192.0.2.7:1"] && read.records[device]?.told == [])
    #expect(read.push == .never)
  }

  @Test func `R14.2 an address of an interface that has gone waits for it, and says so`() throws {
    var settings = DeviceSettings()
    try settings.records.add(DeviceAddress("[fe80::7%gone0]:4711"), to: device)
    #expect(settings.records[device]?.paths([]).addresses == [])
    #expect(settings.problem?.message.contains("[fe80::7%gone0]:4711: waits for its network interface") == true)
    try settings.records.remove(DeviceAddress("[fe80::7%gone0]:4711"), from: device)
    try settings.records.add(DeviceAddress("[fe80::7%lo]:4711"), to: device)
    #expect(settings.problem == nil && settings.records[device]?.paths([]).addresses.count == 1)
  }

  @Test func `R14.1 addresses that are told cross a link without zones, and junk of them is refused`() throws {
    let addresses = try ["192.0.2.7", "[fe80::7%lo]"].map { try NetworkAddress.read("\($0):1").with(port: 0) }
    let encoding = try DeviceMessage.addresses(4_711, addresses).encoding()
    guard case .addresses(4_711, let read) = try DeviceMessage.known(encoding) else { Issue.record(); return }
    #expect(read.map { $0.host } == ["192.0.2.7", "fe80::7"])
    let data = Value.data([UInt8](repeating: 1, count: 16))
    for (port, list) in [
      (Value.integer(0), try Value.array([data])), (.integer(65_536), try .array([data])),
      (.string("1"), try .array([data])),
      (.integer(1), data), (.integer(1), try .array([.data([1])])), (.integer(1), try .array([.integer(1)])),
    ] {
      let broken = try Value.array([.unsigned(14), port, list]).encoding
      #expect(throws: SegueError.self) { try DeviceMessage.known(broken) }
    }
    let many = try Value.array([
      .unsigned(14), .integer(1), try .array((0..<100).map { .data([UInt8](repeating: $0, count: 16)) }),
      .string("later"),
    ])
    guard case .addresses(_, let some) = try DeviceMessage.known(many.encoding) else { Issue.record(); return }
    #expect(some.count == Limits.toldAddresses)
  }
}
