// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// An activity as an app has saved it for search (R8.1).
public struct SavedRecord: Sendable {
  public let activity: Identifier
  /// As the document has it: `user_info` has the required keys only.
  public let state: Activity
  public let document: [UInt8]
}

/// A change of an app to its saved activities.
public enum SavedChange: Sendable {
  case save(SavedRecord)
  /// By persistent identifiers and by activities (R8.2).
  case delete([String], [Identifier])
  /// All of the app.
  case deleteAll

  /// The bytes that it holds.
  public var size: Int { if case .save(let record) = self { record.document.count } else { 0 } }

  /// Reads a question of docs/protocol.md, "What apps ask the agent". Throws MALFORMED, DECLINED, INVALID_ARGUMENT.
  init(_ question: [UInt8]) throws(SegueError) {
    let question = try Value(cbor: question)
    let name = question["ask"]?.string
    if Text.isSame(name, "save") {
      guard let activity = question["activity"]?.uuid, let document = question["document"]?.data else {
        throw SegueError(.malformed, "save: needs a UUID as activity, and data as document")
      }
      let state = try ActivityDocument.decode(document, ReferenceReader(.none), userInfoLimit: Limits.value)
      guard state.eligibility.contains(.search) else {
        throw SegueError(.declined, "save: the activity is not eligible for search")
      }
      self = .save(SavedRecord(activity: activity, state: state, document: document))
    } else if Text.isSame(name, "delete") {
      guard let list = question["persistent_identifiers"] else {
        self = .deleteAll
        return
      }
      var identifiers: [String] = []
      for element in list.elements ?? [] {
        guard let identifier = element.string else {
          throw SegueError(.malformed, "delete: persistent_identifiers must be strings")
        }
        identifiers.append(identifier)
      }
      guard list.kind == .array || list.kind == .set else {
        throw SegueError(.malformed, "delete: persistent_identifiers must be an array or a set")
      }
      var activities: [Identifier] = []
      for element in question["activities"]?.elements ?? [] {
        guard let activity = element.uuid else {
          throw SegueError(.malformed, "delete: activities must be UUIDs")
        }
        activities.append(activity)
      }
      self = .delete(identifiers, activities)
    } else {
      throw SegueError(.unsupportedVersion, "the agent does not know this question")
    }
  }
}
