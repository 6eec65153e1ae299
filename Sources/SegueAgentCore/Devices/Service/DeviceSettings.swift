// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The user's settings about other devices; stored in the file `devices` of the state folder.
public struct DeviceSettings {
  /// Addresses to dial; types and apps that are private.
  private static let addressLimit = 16
  private static let privateLimit = 64
  /// Bytes of all settings: with the devices they are told in one message.
  private static let sizeLimit = 12 * 1024

  /// The port at which this device listens; 0: one that is free, the same as last time if that is.
  public private(set) var port: UInt16 = 0
  /// The one that was free last time; 0: none.
  public var lastPort: UInt16 = 0
  /// Those that are dialled always, with their ports, as the user wrote them. One of an interface that is not there now
  /// waits for it.
  private(set) var addresses: [String] = []
  /// Whether beacons are sent and heard.
  private(set) var isAnnounced = true
  /// Whether this device passes bytes on between others of the account (R14.3).
  private(set) var isRelaying = false
  /// The device that retains what this one offers (R14.5); nil: none.
  private(set) var mailbox: Identifier?
  /// The number of times that the agent has started with a mailbox: revisions rise with it.
  var starts: UInt64 = 0
  /// The policy for an activity that another device pushes (R3.15).
  private(set) var push = PushPolicy.ask
  /// R10.2: this device offers nothing to other devices; not these types; not activities of these apps.
  private(set) var isPrivate = false
  private(set) var privateTypes: [String] = []
  private(set) var privateApps: [String] = []
  /// The addresses of each device, as the user has given them, and as this device has learned them (R14.2).
  var records = DeviceRecords()

  /// Entries of the file that cannot be used, at least not whole, as they are there; and why. They stay until the user
  /// sets the same anew.
  private var unused: [(key: Value, value: Value, error: SegueError)] = []
  /// Entries that another version of Segue has written. They stay as they are.
  private var foreign: [(key: Value, value: Value)] = []

  public init() {}

  /// For a file that cannot be read: what was private then must not be told to others, nor what others push be taken.
  public static var unreadable: DeviceSettings {
    var settings = DeviceSettings()
    settings.isPrivate = true
    settings.push = .never
    return settings
  }

  /// Reads the file. An entry that cannot be used leaves the others in force (`problem`). Throws MALFORMED for a file
  /// that is no dictionary.
  public init(file: [UInt8]) throws(SegueError) {
    let entries: [(key: Value, value: Value)]
    do throws(SegueError) {
      guard let found = try Value(cbor: file).entries else { throw SegueError(.malformed, "is no dictionary") }
      entries = found.map { (key: $0.key, value: $0.value) }
    } catch { throw SegueError(.malformed, "settings of devices: \(error.message)") }
    for (key, value) in entries {
      guard let name = Self.keys.first(where: { Self.isKey($0, key) }) else {
        if Self.isKey(Self.lastPortKey, key) {
          // The next port takes its place.
          lastPort = (try? Self.port(value, "last_port")) ?? 0
        } else if Self.isKey(Self.startsKey, key) {
          starts = value.int64.flatMap { UInt64(exactly: $0) }.map { min($0, OwnRevisions.lastStart) } ?? 0
        } else if Self.isKey(Self.recordsKey, key) {
          records.read(value)
        } else {
          foreign.append((key, value))
        }
        continue
      }
      do throws(SegueError) { try take(name, value) } catch { unused.append((key, value, error)) }
    }
    if unused.contains(where: { Self.isKey("push", $0.key) }) { push = .never }
  }

  private static func isKey(_ name: String, _ key: Value) -> Bool { key.string.map { Text.isSame($0, name) } ?? false }

  /// Takes an entry of the file, as far as it can be used, and throws what cannot.
  private mutating func take(_ name: String, _ value: Value) throws(SegueError) {
    guard let elements = value.elements, Self.lists.contains(where: { Text.isSame($0, name) }) else {
      return try set(name, value)
    }
    var (good, failure): ([Value], SegueError?) = ([], nil)
    for element in elements {
      do throws(SegueError) {
        try set(name, .array(good + [element]), isOwn: true)
        good.append(element)
      } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  private static let lists = ["addresses", "private_types", "private_apps"]
  /// The keys that the user sets.
  private static let keys = ["port", "discovery", "push", "private", "relay", "retain_on"] + lists
  private static let lastPortKey = "last_port"
  private static let recordsKey = "devices"
  private static let startsKey = "starts"

  /// The error that names the entries of the file that are not used, or not now; nil for none.
  var problem: SegueError? {
    var told: [DiagnosticText] = []
    for each in unused { told.append(DiagnosticText(of: each.error.message)) }
    for address in addresses {
      do throws(SegueError) { _ = try NetworkAddress.read(address) } catch {
        told.append("\(address): waits for its network interface")
      }
    }
    for record in records.all {
      for address in record.addresses {
        if let obstacle = record.obstacle(of: address) { told.append("\(address.text): \(obstacle)") }
      }
    }
    guard let first = told.first else { return nil }
    var text: DiagnosticText = first
    for other in told.dropFirst() { text = "\(text); \(other)" }
    let remedy: DiagnosticText =
      isKeepingPrivate ? "; this device offers nothing to others until it is set anew what is private" : ""
    return SegueError(.invalidArgument, "settings of devices: \(text); all else holds\(remedy)")
  }

  /// Whether it cannot be read what is private: then all is.
  private var isKeepingPrivate: Bool {
    unused.contains { each in
      ["private", "private_types", "private_apps"].contains { Self.isKey($0, each.key) }
    }
  }

  /// Returns the file to be stored. Throws LIMIT_EXCEEDED if it is larger than can be read again.
  public func file() throws(SegueError) -> [UInt8] {
    var known = try entries() + [(key: .string(Self.lastPortKey), value: .integer(Int64(lastPort)))]
    if starts > 0 { known.append((key: .string(Self.startsKey), value: .integer(Int64(starts)))) }
    if !records.all.isEmpty { known.append((key: .string(Self.recordsKey), value: try records.value())) }
    let used = known.filter { entry in !unused.contains { $0.key == entry.key } }
    let own = used + unused.map { (key: $0.key, value: $0.value) }
    let file = try Value.dictionary(own + foreign).encoding
    if file.count <= Limits.deviceSettings { return file }
    let left = try Value.dictionary(own).encoding
    guard left.count <= Limits.deviceSettings else {
      throw SegueError(
        .limitExceeded, "settings: have \(left.count) bytes with what cannot be used of them; set that anew first")
    }
    return left
  }

  /// For people and programs.
  func value() throws(SegueError) -> Value { try .dictionary(try entries()) }

  private func entries() throws(SegueError) -> [(key: Value, value: Value)] {
    [
      (key: .string("port"), value: .integer(Int64(port))),
      (key: .string("addresses"), value: try .array(addresses.map { .string($0) })),
      (key: .string("discovery"), value: .bool(isAnnounced)),
      (key: .string("push"), value: .string(String(joining: "\(push.word)"))),
      (key: .string("private"), value: .bool(isPrivate)),
      (key: .string("relay"), value: .bool(isRelaying)),
      (key: .string("retain_on"), value: mailbox.map { .uuid($0) } ?? .string("off")),
      (key: .string("private_types"), value: try .array(privateTypes.map { .string($0) })),
      (key: .string("private_apps"), value: try .array(privateApps.map { .string($0) })),
    ]
  }

  /// Changes what an ask names. Throws INVALID_ARGUMENT, which names a key that there is not, or a wrong value, and
  /// LIMIT_EXCEEDED for settings that are too long together.
  public mutating func change(_ ask: Value) throws(SegueError) {
    for entry in ask.entries ?? [] {
      guard let key = entry.key.string else {
        throw SegueError(.invalidArgument, "settings: keys must be strings")
      }
      if Text.isSame(key, "ask") { continue }
      try set(key, entry.value)
      unused.removeAll { Self.isKey(key, $0.key) }
    }
    let size = try value().encoding.count
    guard size <= Self.sizeLimit else {
      throw SegueError(
        .limitExceeded, "settings: have \(size) bytes together, at most \(Self.sizeLimit) are allowed")
    }
  }

  /// A mailbox that is no longer in the account is none.
  /// - Returns: whether there was one.
  mutating func forgetMailbox(exceptAmong devices: [Identifier]) -> Bool {
    guard let mailbox, !devices.contains(mailbox) else { return false }
    self.mailbox = nil
    return true
  }

  /// The addresses to dial now: not those that wait for an interface.
  var dialled: [NetworkAddress] { addresses.compactMap { try? NetworkAddress.read($0) } }

  /// Whether an activity is kept off other devices (R10.2); nil if none is.
  var privacy: ((_ type: String, _ bundleIdentifier: String) -> Bool)? {
    if isPrivate || isKeepingPrivate { return { _, _ in true } }
    guard !privateTypes.isEmpty || !privateApps.isEmpty else { return nil }
    return { [privateTypes, privateApps] type, app in
      privateTypes.contains { Text.isSame($0, type) } || privateApps.contains { Text.isSame($0, app) }
    }
  }

  /// - Parameter isOwn: whether it was set before: then an address may wait for its interface.
  private mutating func set(_ key: String, _ value: Value, isOwn: Bool = false) throws(SegueError) {
    switch true {
    case Text.isSame(key, "port"): port = try Self.port(value, "port")
    case Text.isSame(key, "addresses"):
      let texts = try Self.texts(value, "addresses", atMost: Self.addressLimit, of: Limits.identifier)
      for text in texts where !addresses.contains(where: { Text.isSame($0, text) }) {
        do throws(SegueError) { _ = try NetworkAddress.read(text) } catch {
          guard isOwn, NetworkAddress.isOfInterface(text) else {
            throw SegueError(error.status, "addresses: \(error.message)")
          }
        }
      }
      addresses = texts
    case Text.isSame(key, "discovery"): isAnnounced = try Self.bool(value, "discovery")
    case Text.isSame(key, "push"):
      let known: [PushPolicy] = [.ask, .atOnce, .never]
      let word = value.string ?? ""
      guard let push = known.first(where: { Text.isSame(word, String(joining: "\($0.word)")) }) else {
        throw SegueError(.invalidArgument, "push: must be ask, at-once or never")
      }
      self.push = push
    case Text.isSame(key, "private"): isPrivate = try Self.bool(value, "private")
    case Text.isSame(key, "relay"): isRelaying = try Self.bool(value, "relay")
    case Text.isSame(key, "retain_on"):
      mailbox = value.uuid
      guard mailbox != nil || value.string.map({ Text.isSame($0, "off") }) ?? false else {
        throw SegueError(.invalidArgument, "retain_on: must be the identifier of a device, or off")
      }
    case Text.isSame(key, "private_types"):
      privateTypes = try Self.texts(value, "private_types", atMost: Self.privateLimit, of: Limits.type)
    case Text.isSame(key, "private_apps"):
      privateApps = try Self.texts(value, "private_apps", atMost: Self.privateLimit, of: Limits.identifier)
    default:
      let shown = Text.start(of: key, atMost: Limits.identifier)
      throw SegueError(.invalidArgument, "settings: there is no '\(shown)'")
    }
  }

  private static func bool(_ value: Value, _ key: StaticString) throws(SegueError) -> Bool {
    guard let bool = value.bool else { throw SegueError(.invalidArgument, "\(key): must be true or false") }
    return bool
  }

  private static func port(_ value: Value, _ key: StaticString) throws(SegueError) -> UInt16 {
    guard let port = value.int64.flatMap({ UInt16(exactly: $0) }) else {
      throw SegueError(.invalidArgument, "\(key): must be 0 to 65535")
    }
    return port
  }

  private static func texts(
    _ value: Value, _ key: StaticString, atMost count: Int, of size: Int
  ) throws(SegueError) -> [String] {
    guard let elements = value.elements, elements.count <= count else {
      throw SegueError(.invalidArgument, "\(key): must be an array of at most \(count) strings")
    }
    var texts: [String] = []
    for element in elements {
      guard let text = element.string else { throw SegueError(.invalidArgument, "\(key): must have strings alone") }
      try Text.check(text, String(joining: "\(key)"), atMost: size)
      texts.append(text)
    }
    return texts
  }
}

extension PushPolicy {
  /// As users write it.
  fileprivate var word: StaticString {
    switch self {
    case .ask: "ask"
    case .atOnce: "at-once"
    case .never: "never"
    }
  }
}
