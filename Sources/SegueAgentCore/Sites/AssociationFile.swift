// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The file `apple-app-site-association` of a site (R12.8), as a site sends it.
public enum AssociationFile {
  /// Bytes of it, and levels of its nesting (R12.9).
  public static let sizeLimit = 128 * 1024
  static let depthLimit = 16

  /// Reads which of these apps the site lists under `activitycontinuation.apps`. Identifiers are compared byte by byte.
  /// `details`, which belong to `applinks`, list no app here.
  /// - Parameters:
  ///   - body: of an answer with the status 200; JSON, with no signature around it.
  ///   - apps: the application identifiers that are asked for.
  public static func answer(_ body: UnsafeRawBufferPointer, about apps: [String]) -> SiteAnswer {
    guard body.count <= sizeLimit else { return .nothing("the file has more than \(sizeLimit) bytes") }
    if isPage(body) { return .html }
    guard isShallow(body) else { return .nothing("the file is nested deeper than \(depthLimit) levels") }
    let file: Value
    do throws(SegueError) {
      file = try Value(json: body, .plain)
    } catch {
      return .nothing("the file is no JSON: \(Text.start(of: error.message, atMost: Limits.identifier))")
    }
    guard file.kind == .dictionary else { return .nothing("the file is no JSON object") }
    guard let service = file["activitycontinuation"] else {
      return file["applinks"] == nil ? .nothing("the file has no 'activitycontinuation'") : .onlyAppLinks
    }
    guard service.kind == .dictionary, let list = service["apps"]?.elements else {
      return .nothing("'activitycontinuation' has no array 'apps'")
    }
    return .apps(apps.filter { app in list.contains { Text.isSame($0.string, app) } })
  }

  /// Whether the first character that is no blank begins a page of HTML, or of XML.
  private static func isPage(_ body: UnsafeRawBufferPointer) -> Bool {
    let text = body.starts(with: [0xEF, 0xBB, 0xBF]) ? body[3...] : body[...]
    return text.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "<")
  }

  /// Whether brackets outside of strings are never deeper than the limit.
  private static func isShallow(_ body: UnsafeRawBufferPointer) -> Bool {
    var depth = 0
    var isString = false
    var isEscaped = false
    for byte in body {
      if isString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isString = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isString = true
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        if depth > depthLimit { return false }
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      default: break
      }
    }
    return true
  }
}
