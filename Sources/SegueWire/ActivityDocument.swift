// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// An activity as bytes, self-describing (docs/protocol.md, "Activity document"):
/// `55799([1, {"type": …, "title": …, "user_info": …}])`. Absent properties and defaults are left out. Its user_info is
/// in the travelling form: files in containers are references (R5.3).
public enum ActivityDocument {
  /// The version of the layout, the only one so far.
  public static let version: UInt64 = 1
  /// The most bytes of a document: the largest user_info, and the other properties.
  public static let limit = Limits.value + 64 * 1024
  /// The head of tag 55799, "self-described CBOR" (RFC 8949 §3.4.6).
  private static let magic: [UInt8] = [0xd9, 0xd9, 0xf7]

  /// - Parameters:
  ///   - containers: those of the activity's app.
  ///   - userInfoLimit: the most bytes of user_info that references may make of it.
  public static func encode(
    _ activity: Activity, _ containers: Containers, userInfoLimit: Int = Limits.value
  ) throws(SegueError) -> [UInt8] {
    let writer = try write(activity, containers, userInfoLimit)
    return writer.withWritten { bytes in
      var document = magic
      document.reserveCapacity(magic.count + bytes.count)
      document.append(contentsOf: bytes)
      return document
    }
  }

  /// The document as it is saved for search: `user_info` has the required keys only (R1.3), and nothing is attached,
  /// since no origin will be there to send it.
  /// - Parameters: as above.
  public static func encodeForSearch(
    _ activity: Activity, _ containers: Containers, userInfoLimit: Int = Limits.value
  ) throws(SegueError) -> [UInt8] {
    var saved = activity
    if let required = activity.requiredUserInfoKeys?.elements, let entries = activity.userInfo?.entries {
      var kept: [(key: Value, value: Value)] = []
      var next = 0
      for entry in entries {
        // Both are in the order of their encodings.
        while next < required.count, required[next] < entry.key { next += 1 }
        let isRequired = next < required.count && required[next] == entry.key
        if isRequired { kept.append(entry) }
      }
      try saved.setUserInfo(try .dictionary(kept), limit: Limits.value)
    }
    for attachment in activity.attachments { try saved.removeAttachment(attachment.name) }
    return try encode(saved, containers, userInfoLimit: userInfoLimit)
  }

  /// The document in CBOR diagnostic notation, for people; with the URLs of this device.
  public static func describe(_ activity: Activity) throws(SegueError) -> String {
    var writer = try write(activity, nil, Limits.value)
    let document = try writer.finish()
    // The text of the document, and with the tag, and as it is given.
    try Memory.check(document.diagnosticSize, copies: 4)
    return String(joining: "55799(\(document.diagnostic))")
  }

  /// Decodes every property; the activity is clean.
  /// - Parameters:
  ///   - references: with the containers of the app that gets it.
  ///   - userInfoLimit: the most bytes of user_info, with the URLs of this device.
  public static func decode(
    _ bytes: UnsafeRawBufferPointer, _ references: ReferenceReader, userInfoLimit: Int
  ) throws(SegueError) -> Activity {
    guard bytes.starts(with: magic) else {
      throw SegueError(.malformed, "document: does not start with tag 55799, so it is no activity document")
    }
    let content = UnsafeRawBufferPointer(rebasing: bytes[magic.count...])
    let value = try Value(travelled: content, references, bounds: .document)
    guard value.kind == .array, let elements = value.elements, elements.count >= 2, let version = elements[0].uint64
    else {
      throw SegueError(.malformed, "document: not an array of version and properties")
    }
    guard version == self.version else {
      throw SegueError(.unsupportedVersion, "document: has version \(version), known is \(self.version)")
    }
    return try activity(from: elements[1], userInfoLimit: userInfoLimit)
  }

  public static func decode(
    _ bytes: [UInt8], _ references: ReferenceReader, userInfoLimit: Int
  ) throws(SegueError) -> Activity {
    let result: Result<Activity, SegueError> = bytes.withUnsafeBytes { buffer in
      do throws(SegueError) {
        return .success(try decode(buffer, references, userInfoLimit: userInfoLimit))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// - Parameter containers: nil to write the value that the document would be without them.
  private static func write(
    _ activity: Activity, _ containers: Containers?, _ userInfoLimit: Int
  ) throws(SegueError) -> ValueWriter {
    var writer = ValueWriter(.document)
    try writer.begin(.array)
    try writer.put(version)
    try writer.begin(.dictionary)
    try writer.put("type", text: activity.type)
    try writer.put("title", text: activity.title)
    if let userInfo = activity.userInfo {
      try writer.put("user_info")
      if let containers { try put(userInfo, containers, userInfoLimit, to: &writer) } else { try writer.put(userInfo) }
    }
    try writer.put("required_user_info_keys", activity.requiredUserInfoKeys)
    try writer.put("keywords", activity.keywords.count == 0 ? nil : activity.keywords)
    if let url = activity.webpageURL { try writer.put("webpage_url", .url(url)) }
    if let url = activity.referrerURL { try writer.put("referrer_url", .url(url)) }
    try writer.put("target_content_identifier", text: activity.targetContentIdentifier)
    try writer.put("persistent_identifier", text: activity.persistentIdentifier)
    if let date = activity.expirationDate { try writer.put("expiration_date", .date(date)) }
    try writer.put("supports_continuation_streams", activity.supportsContinuationStreams ? .bool(true) : nil)
    try writer.put("private", activity.isPrivate ? .bool(true) : nil)
    try writer.put("public", activity.publicity.map { .bool($0) })
    let isDefault = activity.eligibility == .handoff
    try writer.put("eligibility", isDefault ? nil : .unsigned(UInt64(activity.eligibility.rawValue)))
    let payloadVersion = activity.payloadVersion
    try writer.put("payload_version", payloadVersion == 0 ? nil : .unsigned(UInt64(payloadVersion)))
    try writer.put("attachments", activity.attachments.isEmpty ? nil : activity.attachments.value())
    try writer.end()
    try writer.end()
    return writer
  }

  /// Names user_info in errors: a setter cannot report them, since they depend on the containers.
  private static func put(
    _ userInfo: Value, _ containers: Containers, _ limit: Int, to writer: inout ValueWriter
  ) throws(SegueError) {
    do throws(SegueError) {
      try writer.put(userInfo, travellingFrom: containers, limit: limit)
    } catch {
      throw SegueError(error.status, "user_info, with files in containers as they travel: \(error.message)")
    }
  }

  private static func activity(from properties: Value, userInfoLimit: Int) throws(SegueError) -> Activity {
    guard properties.kind == .dictionary else { throw SegueError(.malformed, "document: properties are no dictionary") }
    var properties = Properties(properties)
    guard let type = properties.take("type")?.string else { throw SegueError(.malformed, "document: has no type") }
    var activity = try Activity(type: type)
    try activity.setTitle(try properties.text("title"))
    try activity.setUserInfo(properties.take("user_info"), limit: userInfoLimit)
    try activity.setRequiredUserInfoKeys(properties.take("required_user_info_keys"))
    try activity.setKeywords(properties.take("keywords"))
    try activity.setWebpageURL(try properties.text("webpage_url"))
    try activity.setReferrerURL(try properties.text("referrer_url"))
    try activity.setTargetContentIdentifier(try properties.text("target_content_identifier"))
    try activity.setPersistentIdentifier(try properties.text("persistent_identifier"))
    if let date = properties.take("expiration_date") {
      guard let seconds = date.date else { throw SegueError(.malformed, "document: expiration_date is no date") }
      try activity.setExpirationDate(seconds)
    }
    activity.setSupportsContinuationStreams(properties.take("supports_continuation_streams")?.bool ?? false)
    activity.setPrivate(properties.take("private")?.bool ?? false)
    activity.setPublic(properties.take("public")?.bool)
    if let bits = properties.take("eligibility")?.uint64 {
      for what in [Activity.Eligibility.handoff, .search, .publicIndexing, .prediction] {
        activity.setEligible(what, bits & UInt64(what.rawValue) != 0)
      }
    }
    if let number = properties.take("payload_version")?.uint64 {
      guard let version = UInt32(exactly: number) else {
        throw SegueError(.malformed, "document: payload_version is over 32 bits")
      }
      activity.setPayloadVersion(version)
    }
    if let attachments = properties.take("attachments") {
      guard attachments.count ?? 0 <= Limits.attachments, let entries = attachments.entries else {
        throw SegueError(.malformed, "document: attachments are too many, or no dictionary")
      }
      for entry in entries {
        guard let name = entry.key.string, Attachment.isName(name), let size = entry.value.uint64 else {
          throw SegueError(.malformed, "document: an attachment is not the name of a file and a size")
        }
        try activity.attach(Attachment(name: name, size: size))
      }
    }
    activity.markNeedsSave(false)
    return activity
  }
}

/// The entries of the document; nil entries are left out.
extension ValueWriter {
  fileprivate mutating func put(_ key: String, _ value: Value?) throws(SegueError) {
    guard let value else { return }
    try put(key)
    try put(value)
  }

  fileprivate mutating func put(_ key: String, text: String?) throws(SegueError) {
    guard let text else { return }
    try put(key)
    try put(text)
  }
}

/// The properties of a document, each taken once: after the last present one, no more look-ups happen. Most are absent.
private struct Properties {
  private let dictionary: Value
  private var left: Int

  init(_ dictionary: Value) {
    self.dictionary = dictionary
    left = dictionary.count ?? 0
  }

  mutating func take(_ key: String) -> Value? {
    guard left > 0, let value = dictionary[key] else { return nil }
    left -= 1
    return value
  }

  /// Text or a URL, nil if absent.
  mutating func text(_ key: String) throws(SegueError) -> String? {
    guard let value = take(key) else { return nil }
    guard let text = value.string ?? value.url else { throw SegueError(.malformed, "document: \(key) is no text") }
    return text
  }
}
