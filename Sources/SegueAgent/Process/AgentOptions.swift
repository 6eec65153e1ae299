// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSegue

/// The arguments of `segue-agent`.
struct AgentOptions {
  /// Whether an agent that runs is asked to end, and its place taken.
  var replaces = false

  static var version: String {
    let number = UInt32(SEGUE_VERSION)
    return "\(number >> 16).\(number >> 8 & 0xFF).\(number & 0xFF)"
  }

  static var usage: String {
    """
    usage: segue-agent [--replace | --stdio]
      --replace   ask the agent that runs to end, and take its place
      --stdio     connect standard input and output with the agent that runs, for another device's command
      --version   print the version
      --help      print this
    exit status: 0 ended in order, 1 an error, 2 wrong arguments, 3 another agent of this user runs

    """
  }

  enum Reading {
    case run(AgentOptions)
    /// Another device is to be linked through standard input and output.
    case standardLink
    /// The text to print instead.
    case help(String)
    /// The message that says what is wrong.
    case wrong(String)
  }

  static func read(_ arguments: [String]) -> Reading {
    var options = AgentOptions()
    if arguments.count == 1, isSame(arguments[0], "--stdio") { return .standardLink }
    for argument in arguments {
      switch true {
      case isSame(argument, "--replace"): options.replaces = true
      case isSame(argument, "--version"): return .help("segue-agent \(version)\n")
      case isSame(argument, "--help"): return .help(usage)
      case isSame(argument, "--stdio"): return .wrong("--stdio: stands alone")
      default: return .wrong("\(argument): no such option")
      }
    }
    return .run(options)
  }

  private static func isSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }
}
