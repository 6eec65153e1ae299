// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The texts of a command that leads to a device (R14.4), as far as they tell why no link comes about: what it has
/// written to its standard error, how it has ended, and what came through it before the agent there spoke.
public struct CommandTalk {
  /// Bytes of a line that is kept, and of the output that is.
  private static let lineSize = 512
  private static let outputSize = 40
  /// Lines that are told: more would have other lines left out of the log.
  private static let lineLimit = 16

  private var line: [UInt8] = []
  private var errorSize = 0
  private var lineCount = 0
  private var lastLine: String?
  private var output: [UInt8] = []
  private var outputCount = 0
  private var ending: String?

  public init() {}

  /// Takes what the command has written to its standard error.
  /// - Returns: the lines that are whole now, without control characters: the first 16. What is beyond 64 KiB of all is
  ///   dropped.
  public mutating func takeErrors(_ bytes: [UInt8]) -> [String] {
    var lines: [String] = []
    for byte in bytes.prefix(max(0, CommandReport.errorLimit - errorSize)) {
      if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
        lines += endLine()
      } else if line.count < Self.lineSize {
        line.append(byte)
      }
    }
    errorSize += min(bytes.count, CommandReport.errorLimit - errorSize)
    return lines
  }

  private mutating func endLine() -> [String] {
    let clean = Text.decoded(Text.oneLine(Text.decoded(line)))
    line = []
    guard clean.utf8.contains(where: { $0 != UInt8(ascii: " ") }) else { return [] }
    lastLine = clean
    lineCount += 1
    return lineCount <= Self.lineLimit ? [clean] : []
  }

  /// The command has ended.
  /// - Returns: the line that it has not finished.
  public mutating func end(_ how: String) -> [String] {
    ending = how
    return endLine()
  }

  /// Takes what came through the command.
  public mutating func takeOutput(_ bytes: [UInt8]) {
    output += bytes.prefix(Self.outputSize - output.count)
    outputCount += min(bytes.count, Knock.nonceSize + 1)
  }

  /// The error of a connection through it, with what is known here.
  /// - Parameter hasKnocked: whether the agent there has proved that it is of the account.
  public func explanation(of error: SegueError, hasKnocked: Bool) -> SegueError {
    if !hasKnocked, isForeign {
      let start = Text.decoded(Text.oneLine(Text.decoded(Self.printable(output))))
      return SegueError(
        .connectionUnavailable,
        "something writes '\(start)' to the command's output before the agent there does, as a shell's profile may")
    }
    // The other agent has ended it for a reason of its own, and so has the command.
    guard error.status == .connectionUnavailable || error.status == .remoteApplicationTimedOut else { return error }
    switch (lastLine, ending) {
    case (let line?, let ending?): return SegueError(.connectionUnavailable, "\(line) (\(ending))")
    case (let line?, nil) where !hasKnocked: return SegueError(error.status, "\(error.message); it says: \(line)")
    case (nil, let ending?) where outputCount == 0: return SegueError(.connectionUnavailable, "\(ending)")
    default: return error
    }
  }

  /// Whether what came is no challenge, which is 16 random bytes and then nothing before the answer.
  private var isForeign: Bool {
    let text = Self.printable(output).count
    return text > 0 && (text == output.count || outputCount > Knock.nonceSize && text > 1)
  }

  /// The bytes before the first one that no line of ASCII has.
  private static func printable(_ bytes: [UInt8]) -> [UInt8] {
    Array(bytes.prefix { byte in 0x20 <= byte && byte < 0x7F || [7, 8, 9, 10, 13, 27].contains(byte) })
  }
}
