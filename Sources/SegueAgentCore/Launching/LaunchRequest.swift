// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// A request of the agent to its launcher, as it crosses the socket between them. The list of requests is closed, and
/// none of them names a program or its arguments. So an agent that an attacker controls can start what the user has
/// installed, and nothing else (A27).
public struct LaunchRequest: Sendable {
  /// Bytes of an encoded request.
  public static let sizeLimit = 64 * 1024
  /// The kinds have numbers on the wire, and texts as their arguments.
  public enum Kind: Sendable {
    /// Number 1: starts the app of a bundle identifier, by its manifest and `.desktop` file, which the launcher reads.
    case startApp(String)
    /// Number 2: opens a web page in a browser, by its `.desktop` file, which the launcher reads (R12.3). The page is
    /// one argument of the program, and an absolute http or https URL (W10).
    case openPage(String, browser: String)
    /// Number 3, with a descriptor: asks a site for its file, by a process that writes the answer there (R12.9).
    case fetchSite(SiteFetch)
    /// Number 4: opens a document with an opener, by its file, which the launcher reads (R13.7). The texts of the
    /// document are checked by the table of public types; each becomes a part of one argument.
    case openDocument(OpenedDocument, opener: String)
    /// Number 5, with a descriptor: looks a name up, by a process that writes the addresses there (R14.2).
    case lookUp(DeviceHostName)
    /// Number 6, with a descriptor: reads which devices have a command, by a process that writes them there (R14.4).
    case listCommands
    /// Number 7, with a descriptor: runs the command of a device, by a process that reads it from the user's file and
    /// reports there (R14.4).
    case runCommand(Identifier)
    /// Number 8, with a descriptor of a process: tells in which sandbox that one runs, if in any (R13.8). The launcher
    /// starts nothing.
    case lookAtProcess
    /// A kind that this launcher does not know: it is refused.
    case unknown(UInt64)
  }

  public let kind: Kind
  /// From the control client: of `LaunchVariable.names`, those that replace the launcher's own.
  public let environment: [LaunchVariable]

  public init(_ kind: Kind, environment: [LaunchVariable] = []) {
    self.kind = kind
    self.environment = environment
  }

  /// The app, for the rate and for messages.
  public var app: String {
    switch kind {
    case .startApp(let app): app
    case .openPage(_, let browser): browser
    case .fetchSite(let fetch): fetch.host
    case .openDocument(_, let opener): opener
    case .lookUp(let name): name.text
    case .listCommands: "the list of paths"
    case .runCommand(let device): String(joining: "the command to \(device.fingerprint)")
    case .lookAtProcess: "a process"
    case .unknown(let number): "kind \(number)"
    }
  }

  /// The name under which it counts, and the most such launches in a minute: a browser opens more pages than an app has
  /// starts. Nil: the schedules of sites, names and devices, and looks, have bounds of their own.
  public var rate: (name: String, limit: Int)? {
    switch kind {
    case .openPage(_, let browser): (String(joining: "a page in \(browser)"), LaunchGate.pageLimit)
    case .openDocument(_, let opener): (String(joining: "a file in \(opener)"), LaunchGate.pageLimit)
    case .startApp, .unknown: (app, LaunchGate.appLimit)
    case .fetchSite, .lookUp, .listCommands, .runCommand, .lookAtProcess: nil
    }
  }

  /// Throws INVALID_ARGUMENT, which names what is wrong.
  public func check() throws(SegueError) {
    switch kind {
    // An `OpenedDocument` was checked when it was made.
    case .startApp, .openDocument, .lookUp, .listCommands, .runCommand, .lookAtProcess: break
    case .openPage(let page, _): try Self.checkPage(page)
    case .fetchSite(let fetch):
      guard AssociatedDomain.isHost(fetch.host) else {
        throw SegueError(.invalidArgument, "launch: site: must be the name of a host")
      }
    case .unknown: throw SegueError(.invalidArgument, "launch: the launcher knows no request of \(app)")
    }
    try Text.check(app, "launch: app", atMost: Limits.identifier)
    for variable in environment {
      guard LaunchVariable.names.contains(where: { Text.isSame($0, variable.name) }) else {
        throw SegueError(.invalidArgument, "launch of \(app): the variable \(variable.name) may not be set")
      }
      guard !Text.has(variable.value, 0) else {
        throw SegueError(.invalidArgument, "launch of \(app): there is a NUL in \(variable.name)")
      }
    }
  }

  /// The grammar of URLs has neither blanks, quotes and control characters nor anything beyond ASCII, and begins with
  /// a scheme: so the page is one argument, and no option. A user in the URL would hide whose page it is.
  private static func checkPage(_ page: String) throws(SegueError) {
    guard WebOrigin.of(page) != nil else {
      throw SegueError(.invalidArgument, "launch: page: must be an absolute http or https URL")
    }
    if AbsoluteURL.hasUser(page) {
      throw SegueError(.invalidArgument, "launch: page: has a user or a password before its host")
    }
  }

  // MARK: - Encoding

  /// Encodes the request with its number: the number of its kind, the kind's texts, and the variables. Throws
  /// LIMIT_EXCEEDED if it is too long.
  public func encoded(as number: UInt64) throws(SegueError) -> [UInt8] {
    var writer = ValueWriter()
    try writer.begin(.array)
    try writer.put(number)
    switch kind {
    case .startApp(let app):
      try writer.put(UInt64(1))
      try writer.begin(.array)
      try writer.put(app)
    case .openPage(let page, let browser):
      try writer.put(UInt64(2))
      try writer.begin(.array)
      try writer.put(page)
      try writer.put(browser)
    case .fetchSite(let fetch):
      try writer.put(UInt64(3))
      try writer.begin(.array)
      for word in fetch.words { try writer.put(word) }
    case .openDocument(let document, let opener):
      try writer.put(UInt64(4))
      try writer.begin(.array)
      try writer.put(opener)
      try writer.put(document.type)
      for value in document.values {
        try writer.put(value.key)
        try writer.put(value.text)
      }
    case .lookUp(let name):
      try writer.put(UInt64(5))
      try writer.begin(.array)
      try writer.put(name.text)
    case .listCommands:
      try writer.put(UInt64(6))
      try writer.begin(.array)
    case .runCommand(let device):
      try writer.put(UInt64(7))
      try writer.begin(.array)
      try writer.put(device.text)
    case .lookAtProcess:
      try writer.put(UInt64(8))
      try writer.begin(.array)
    case .unknown(let kind):
      try writer.put(kind)
      try writer.begin(.array)
    }
    try writer.end()
    try writer.begin(.array)
    for variable in environment {
      try writer.put(variable.name)
      try writer.put(variable.value)
    }
    try writer.end()
    try writer.end()
    guard writer.count <= Self.sizeLimit else {
      throw SegueError(
        .limitExceeded, "launch of \(app): \(writer.count) bytes, at most \(Self.sizeLimit) can be sent")
    }
    return writer.withWritten { Array($0) }
  }

  /// Nil unless the bytes are a numbered request.
  public static func decode(_ bytes: UnsafeRawBufferPointer) -> (number: UInt64, request: LaunchRequest)? {
    guard bytes.count <= sizeLimit, var reader = FlatReader(bytes), reader.array() == 4,
      let number = reader.unsigned(), let kind = reader.unsigned(), let texts = Self.texts(&reader),
      let words = Self.texts(&reader), words.count % 2 == 0
    else { return nil }
    let environment = stride(from: 0, to: words.count, by: 2).map {
      LaunchVariable(name: words[$0], value: words[$0 + 1])
    }
    switch (kind, texts.count) {
    case (1, 1): return (number, LaunchRequest(.startApp(texts[0]), environment: environment))
    case (2, 2): return (number, LaunchRequest(.openPage(texts[0], browser: texts[1]), environment: environment))
    case (3, _):
      return SiteFetch(words: texts).map { (number, LaunchRequest(.fetchSite($0), environment: environment)) }
    case (4, 2...) where texts.count % 2 == 0:
      let values = stride(from: 2, to: texts.count, by: 2).map { (key: texts[$0], text: texts[$0 + 1]) }
      guard let document = try? OpenedDocument(type: texts[1], values: values) else { return nil }
      return (number, LaunchRequest(.openDocument(document, opener: texts[0]), environment: environment))
    case (5, 1):
      return DeviceHostName(texts[0]).map { (number, LaunchRequest(.lookUp($0), environment: environment)) }
    case (6, 0): return (number, LaunchRequest(.listCommands, environment: environment))
    case (7, 1):
      return Identifier(text: texts[0]).map { (number, LaunchRequest(.runCommand($0), environment: environment)) }
    case (8, 0): return (number, LaunchRequest(.lookAtProcess, environment: environment))
    case (1, _), (2, _), (4, _), (5, _), (6, _), (7, _), (8, _): return nil
    default: return (number, LaunchRequest(.unknown(kind), environment: environment))
    }
  }

  private static func texts(_ reader: inout FlatReader) -> [String]? {
    guard let count = reader.array() else { return nil }
    var texts: [String] = []
    for _ in 0..<count {
      guard let text = reader.string(atMost: sizeLimit) else { return nil }
      texts.append(text)
    }
    return texts
  }
}
