// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import Testing

/// bindings/segue-api.json, as far as the tests use it.
struct SignatureTable: Decodable, Sendable {
  struct Parameter: Decodable, Sendable {
    let name: String
    let type: String
    let role: String
    let direction: String
    let handle: String?
    let callback: String?
    let enumerator: String?
    let of: String?
    let size: Int?
    let nullable: Bool?
    let required: Bool?

    var isIn: Bool { direction == "in" }
    /// Whether it takes a handle of one type.
    var takesHandle: Bool { role == "handle" && isIn && handle != "any" }
  }

  struct Function: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let returns: String
    let parameters: [Parameter]
    /// The library that alone has it; nil: both have it.
    let only_in: String?

    var testDescription: String { name }
  }

  private(set) var handles: [String]
  /// The functions of the library under test.
  private(set) var functions: [Function]
  let callbacks: [Function]

  /// The root of the project, from where this file lies.
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static let shared: SignatureTable = {
    do {
      let data = try Data(contentsOf: root.appending(path: "bindings/segue-api.json"))
      var table = try JSONDecoder().decode(SignatureTable.self, from: data)
      if !SharedLibrary.shared.hasFleet {
        table.functions.removeAll { $0.only_in != nil }
        let used = Set(table.functions.flatMap { $0.parameters.compactMap(\.handle) })
        table.handles.removeAll { !used.contains($0) }
      }
      return table
    } catch {
      fatalError("bindings/segue-api.json: \(error)")
    }
  }()

  func function(_ name: String) -> Function? { functions.first { $0.name == name } }
}
