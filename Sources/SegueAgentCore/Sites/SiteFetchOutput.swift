// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The output of the process that asks a site (R12.9): one line with the status and the bytes of the body, or with 0
/// and a reason; and behind it the body.
public enum SiteFetchOutput {
  /// Bytes of the line.
  private static let lineLimit = 512
  /// Bytes of all of it.
  public static let sizeLimit = lineLimit + HTTPAnswer.bodyLimit

  /// - Parameter result: with a body of at most `HTTPAnswer.bodyLimit` bytes.
  public static func encode(_ result: SiteFetchResult) -> [UInt8] {
    switch result {
    case .answered(let status, let body): return Array("\(status) \(body.count)\n".utf8) + body
    case .failed(let reason), .notAsked(let reason):
      return Text.bytes("0 ") + Text.oneLine(Text.start(of: reason, atMost: lineLimit / 2)) + [0x0A]
    }
  }

  /// Everything that is not as `encode` makes it is a failure: the process parses what comes from the Internet, and may
  /// have become another's.
  public static func decode(_ bytes: [UInt8]) -> SiteFetchResult {
    guard bytes.count <= sizeLimit, let end = bytes.prefix(lineLimit).firstIndex(of: 0x0A) else { return nothing }
    let line = bytes[..<end]
    let digits = line.prefix { $0 != 0x20 }
    guard 1...3 ~= digits.count, digits.count < line.count,
      digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
    else { return nothing }
    let status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    let rest = Text.decoded(Array(line.dropFirst(digits.count + 1)))
    if status == 0 { return .failed(Text.decoded(Text.oneLine(rest))) }
    // A process that ends while it writes has said no answer.
    let body = Array(bytes[(end + 1)...])
    guard 100..<600 ~= status, body.count <= HTTPAnswer.bodyLimit, Text.isSame(rest, "\(body.count)") else {
      return nothing
    }
    return .answered(status: status, body: status == 200 ? body : [])
  }

  private static var nothing: SiteFetchResult {
    .failed("the process that asks the site has ended without an answer; it has 10 s")
  }
}
