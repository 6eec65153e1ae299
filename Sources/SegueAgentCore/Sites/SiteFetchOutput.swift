// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The output of the process that asks a site: one line with status and reason, and behind it the body (R12.9).
public enum SiteFetchOutput {
  /// Bytes of the line.
  private static let lineLimit = 512
  /// Bytes of all of it.
  public static let sizeLimit = lineLimit + HTTPAnswer.bodyLimit

  /// - Parameter result: with a body of at most `HTTPAnswer.bodyLimit` bytes.
  public static func encode(_ result: SiteFetchResult) -> [UInt8] {
    switch result {
    case .answered(let status, let body): return Array("\(status) answered\n".utf8) + body
    case .failed(let reason):
      return Text.bytes("0 ") + Text.oneLine(Text.start(of: reason, atMost: lineLimit / 2)) + [0x0A]
    }
  }

  /// Everything that is not as `encode` makes it is a failure: the process parses what comes from the Internet, and may
  /// have become another's.
  public static func decode(_ bytes: [UInt8]) -> SiteFetchResult {
    if bytes.isEmpty { return .failed("the site has not answered within 10 s") }
    guard bytes.count <= sizeLimit, let end = bytes.prefix(lineLimit).firstIndex(of: 0x0A) else { return nothing }
    let line = bytes[..<end]
    let digits = line.prefix { $0 != 0x20 }
    guard 1...3 ~= digits.count, digits.count < line.count,
      digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
    else { return nothing }
    let status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    let body = Array(bytes[(end + 1)...])
    switch status {
    case 0:
      let reason = Text.decoded(Text.oneLine(Text.decoded(Array(line.dropFirst(digits.count + 1)))))
      return .failed(reason)
    case 200 where body.count <= HTTPAnswer.bodyLimit: return .answered(status: status, body: body)
    case 201...599, 100...199: return .answered(status: status, body: [])
    default: return nothing
    }
  }

  private static var nothing: SiteFetchResult { .failed("the process that asks sites has ended without an answer") }
}
